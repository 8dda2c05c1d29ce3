// Instanced billboards: gl_InstanceID picks a row, gl_VertexID a corner.
#version 330
uniform vec4 placement[64];
uniform mat4 view;
uniform mat4 projection;
uniform float spin;
out vec2 uv;
flat out int instance;
void main()
{
    vec2 corner = vec2(gl_VertexID & 1, gl_VertexID >> 1);
    vec4 where = placement[gl_InstanceID & 63];
    float a = spin + where.w * float(gl_InstanceID);
    vec2 o = mat2(cos(a), sin(a), -sin(a), cos(a)) * (corner - 0.5);
    uv = corner;
    instance = gl_InstanceID;
    gl_Position = projection * (view * vec4(where.xyz, 1.0) + vec4(o, 0.0, 0.0));
}
