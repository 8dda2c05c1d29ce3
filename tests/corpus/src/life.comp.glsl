// Cellular automaton over integer images.
#version 430
layout(local_size_x = 8, local_size_y = 8) in;
layout(r32ui, binding = 0) readonly uniform uimage2D before;
layout(r32ui, binding = 1) writeonly uniform uimage2D after;
void main()
{
    ivec2 p = ivec2(gl_GlobalInvocationID.xy), size = imageSize(before);
    uint n = 0u;
    for (int y = -1; y <= 1; y++)
        for (int x = -1; x <= 1; x++)
            if (x != 0 || y != 0)
                n += imageLoad(before, (p + ivec2(x, y) + size) % size).x & 1u;
    uint alive = imageLoad(before, p).x & 1u;
    imageStore(after, p, uvec4(n == 3u || (alive == 1u && n == 2u) ? 1u : 0u));
}
