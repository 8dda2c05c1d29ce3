// Tree reduction in shared memory with barriers.
#version 430
layout(local_size_x = 64) in;
layout(std430, binding = 0) buffer In { float values[]; };
layout(std430, binding = 1) buffer Out { float sums[]; };
shared float s[64];
void main()
{
    uint l = gl_LocalInvocationIndex;
    s[l] = values[gl_GlobalInvocationID.x];
    barrier();
    for (uint n = 32u; n > 0u; n >>= 1) {
        if (l < n)
            s[l] += s[l + n];
        barrier();
    }
    if (l == 0u)
        sums[gl_WorkGroupID.x] = s[0];
}
