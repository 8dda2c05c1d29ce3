// Morph targets from a buffer texture.
#version 330
in vec3 position;
uniform samplerBuffer targets;
uniform float weights[8];
uniform int target_count;
uniform int vertex_count;
uniform mat4 mvp;
void main()
{
    vec3 p = position;
    for (int i = 0; i < target_count; i++)
        p += weights[i] * texelFetch(targets, i * vertex_count + gl_VertexID).xyz;
    gl_Position = mvp * vec4(p, 1.0);
}
