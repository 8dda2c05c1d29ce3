// Bitfield extract, insert, reverse, counts and find functions.
#version 430
layout(location = 0) flat in uvec4 a;
layout(location = 1) flat in ivec4 b;
layout(location = 0) out uvec4 color;
void main()
{
    uvec4 e = bitfieldExtract(a, b.x & 15, b.y & 15);
    ivec4 s = bitfieldExtract(b, 4, 9);
    uvec4 n = bitfieldInsert(a, e, 3, 7);
    uvec4 r = bitfieldReverse(n) ^ uvec4(s);
    r += uvec4(bitCount(a)) + uvec4(findMSB(a)) - uvec4(findLSB(b)) + uvec4(findMSB(b));
    color = r;
}
