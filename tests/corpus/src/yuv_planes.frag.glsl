// Three-plane YUV to RGB, video range, through a matrix.
#version 330
uniform sampler2D plane_y;
uniform sampler2D plane_u;
uniform sampler2D plane_v;
in vec2 uv;
out vec4 color;
const mat3 bt601 = mat3(1.164, 1.164, 1.164, 0.0, -0.392, 2.017, 1.596, -0.813, 0.0);
void main()
{
    vec3 c = vec3(texture(plane_y, uv).r, texture(plane_u, uv).r, texture(plane_v, uv).r) - vec3(0.0625, 0.5, 0.5);
    color = vec4(clamp(bt601 * c, 0.0, 1.0), 1.0);
}
