// Alpha test, stipple and a discard inside a loop.
#version 330
uniform sampler2D image;
uniform float cut;
uniform vec4 planes[3];
in vec2 uv;
in vec4 world;
out vec4 color;
void main()
{
    for (int i = 0; i < 3; i++)
        if (dot(world, planes[i]) < 0.0)
            discard;
    vec4 c = texture(image, uv);
    if (c.a < cut)
        discard;
    ivec2 p = ivec2(gl_FragCoord.xy);
    if (c.a < 0.5 && ((p.x + p.y) & 1) == 0)
        discard;
    color = c;
}
