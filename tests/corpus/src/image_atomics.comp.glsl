// Image and buffer atomics of every kind, results used and unused.
#version 430
layout(local_size_x = 4) in;
layout(r32ui, binding = 0) coherent uniform uimage2D counters;
layout(std430, binding = 0) coherent buffer B { uint words[]; };
void main()
{
    uint i = gl_GlobalInvocationID.x;
    ivec2 p = ivec2(i & 7u, i >> 3);
    uint a = imageAtomicAdd(counters, p, 1u);
    imageAtomicMax(counters, p.yx, a);
    uint b = atomicExchange(words[i], a);
    atomicMin(words[b & 15u], i);
    atomicOr(words[0], 1u << (i & 31u));
    uint c = atomicCompSwap(words[1], b, i);
    memoryBarrier();
    words[i + 16u] = a ^ b ^ c ^ atomicXor(words[2], a) ^ atomicAnd(words[3], ~i);
}
