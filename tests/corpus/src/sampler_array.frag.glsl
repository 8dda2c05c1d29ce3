// Sampler array with a uniform dynamic index.
#version 400
uniform sampler2D maps[4];
uniform int which;
in vec2 uv;
out vec4 color;
void main()
{
    color = texture(maps[which], uv) + texture(maps[0], uv.yx);
    for (int i = 0; i < 4; i++)
        color *= texture(maps[i], uv * float(i));
}
