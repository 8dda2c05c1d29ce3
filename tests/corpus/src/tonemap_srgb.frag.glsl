// Filmic curve, exposure, vignette, and the exact sRGB transfer function.
#version 330
uniform sampler2D hdr;
uniform float exposure;
in vec2 uv;
out vec4 color;
vec3 curve(vec3 x) { return clamp((x * (2.51 * x + 0.03)) / (x * (2.43 * x + 0.59) + 0.14), 0.0, 1.0); }
vec3 srgb(vec3 c)
{
    return mix(1.055 * pow(c, vec3(1.0 / 2.4)) - 0.055, c * 12.92, lessThanEqual(c, vec3(0.0031308)));
}
void main()
{
    vec2 d = uv - 0.5;
    vec3 c = texture(hdr, uv).rgb * exposure * (1.0 - dot(d, d));
    color = vec4(srgb(curve(c)), 1.0);
}
