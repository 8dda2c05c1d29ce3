// A chain of dependent fetches: indirection depth four.
#version 330
uniform sampler2D warp;
uniform sampler2D image;
in vec2 uv;
out vec4 color;
void main()
{
    vec2 a = uv + (texture(warp, uv).xy - 0.5) * 0.1;
    vec2 b = a + (texture(warp, a.yx).zw - 0.5) * 0.1;
    vec2 c = b * texture(warp, b).x;
    color = texture(image, c) + texture(image, a) * texture(image, b);
}
