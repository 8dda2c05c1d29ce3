// RGB to HSV, hue rotation, and back.
#version 330
uniform sampler2D image;
uniform vec3 shift;
in vec2 uv;
out vec4 color;
vec3 to_hsv(vec3 c)
{
    float hi = max(c.r, max(c.g, c.b)), lo = min(c.r, min(c.g, c.b)), d = hi - lo;
    float h = 0.0;
    if (d > 0.0) {
        if (hi == c.r) h = (c.g - c.b) / d;
        else if (hi == c.g) h = 2.0 + (c.b - c.r) / d;
        else h = 4.0 + (c.r - c.g) / d;
    }
    return vec3(fract(h / 6.0), hi > 0.0 ? d / hi : 0.0, hi);
}
vec3 to_rgb(vec3 c)
{
    vec3 p = abs(fract(c.xxx + vec3(1.0, 2.0 / 3.0, 1.0 / 3.0)) * 6.0 - 3.0);
    return c.z * mix(vec3(1.0), clamp(p - 1.0, 0.0, 1.0), c.y);
}
void main()
{
    vec3 h = to_hsv(texture(image, uv).rgb);
    color = vec4(to_rgb(vec3(fract(h.x + shift.x), clamp(h.yz * shift.yz, 0.0, 1.0))), 1.0);
}
