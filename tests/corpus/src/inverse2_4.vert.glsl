// Small inverses and products of non-square matrices.
#version 330
in vec4 a;
in vec4 b;
uniform mat4x3 wide;
uniform mat3x4 tall;
out vec3 v;
out vec2 w;
void main()
{
    mat2 m = mat2(a.xy, a.zw);
    w = inverse(m) * b.xy + transpose(m) * b.zw;
    mat3 s = wide * tall;
    v = s * b.xyz;
    gl_Position = tall * (wide * a);
}
