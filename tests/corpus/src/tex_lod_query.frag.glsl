// Level-of-detail query, mip count and manual trilinear mixing.
#version 430
layout(binding = 0) uniform sampler2D image;
layout(location = 0) in vec2 uv;
layout(location = 0) out vec4 color;
void main()
{
    vec2 lod = textureQueryLod(image, uv);
    int levels = textureQueryLevels(image);
    float l = clamp(lod.y, 0.0, float(levels - 1));
    vec4 a = textureLod(image, uv, floor(l)), b = textureLod(image, uv, ceil(l));
    color = mix(a, b, fract(l)) + vec4(lod.x);
}
