// Atomic counters with early fragment tests.
#version 430
layout(early_fragment_tests) in;
layout(binding = 0, offset = 0) uniform atomic_uint seen;
layout(binding = 0, offset = 4) uniform atomic_uint odd;
layout(location = 0) out vec4 color;
void main()
{
    uint n = atomicCounterIncrement(seen);
    if ((n & 1u) != 0u)
        atomicCounterIncrement(odd);
    color = vec4(float(n), float(atomicCounter(odd)), 0.0, 1.0);
}
