// Gathers with component, offsets and comparison; texel offsets.
#version 400
uniform sampler2D image;
uniform sampler2DShadow depth;
in vec3 uv;
out vec4 color;
void main()
{
    vec4 a = textureGather(image, uv.xy, 1);
    vec4 b = textureGatherOffset(image, uv.xy, ivec2(-3, 2), 3);
    vec4 c = textureGather(depth, uv.xy, uv.z);
    vec4 d = textureOffset(image, uv.xy, ivec2(7, -8), uv.z);
    color = a + b * c - d;
}
