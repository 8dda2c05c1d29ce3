// Float as integer and back: fast inverse root, frexp, ldexp, packing.
#version 430
layout(location = 0) in vec4 v;
layout(location = 0) out vec4 color;
void main()
{
    int i = 0x5f3759df - (floatBitsToInt(v.x) >> 1);
    float y = intBitsToFloat(i);
    y *= 1.5 - 0.5 * v.x * y * y;
    int e;
    float m = frexp(v.y, e);
    uint p = packUnorm4x8(v), q = packSnorm2x16(v.zw), h = packHalf2x16(v.xy);
    color = unpackUnorm4x8(p ^ 0xffu) + vec4(unpackSnorm2x16(q), unpackHalf2x16(h)) + vec4(y, ldexp(m, e + 2), float(e), 0.0);
}
