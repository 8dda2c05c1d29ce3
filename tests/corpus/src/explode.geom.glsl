// Pushes triangles along their face normal.
#version 330
layout(triangles) in;
layout(triangle_strip, max_vertices = 3) out;
in vec3 n_in[];
out vec3 n_out;
uniform float amount;
uniform mat4 mvp;
void main()
{
    vec3 a = gl_in[1].gl_Position.xyz - gl_in[0].gl_Position.xyz;
    vec3 b = gl_in[2].gl_Position.xyz - gl_in[0].gl_Position.xyz;
    vec3 n = normalize(cross(a, b)) * amount;
    for (int i = 0; i < 3; i++) {
        n_out = n_in[i];
        gl_Position = mvp * (gl_in[i].gl_Position + vec4(n, 0.0));
        EmitVertex();
    }
    EndPrimitive();
}
