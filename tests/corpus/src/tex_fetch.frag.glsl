// texelFetch on integer, array and multisample textures, and size queries.
#version 400
uniform isampler2D ints;
uniform usampler2DArray uints;
uniform sampler2DMS samples;
uniform sampler3D volume;
uniform int sample_count;
in vec2 uv;
out vec4 color;
void main()
{
    ivec2 size = textureSize(ints, 0);
    ivec2 p = ivec2(uv * vec2(size)) % max(size, 1);
    ivec4 i = texelFetch(ints, p, 0);
    uvec4 u = texelFetch(uints, ivec3(p, i.x & 3), 1);
    vec4 s = vec4(0.0);
    for (int k = 0; k < sample_count; k++)
        s += texelFetch(samples, p, k);
    color = s / float(sample_count) + vec4(i) + vec4(u) * texelFetchOffset(volume, ivec3(p, 0), 0, ivec3(1, 0, -1));
}
