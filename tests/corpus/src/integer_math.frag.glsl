// Signed and unsigned division, remainder, shifts, high multiply, carry and borrow.
#version 430
layout(location = 0) flat in ivec4 a;
layout(location = 1) flat in uvec4 b;
layout(location = 0) out ivec4 color;
void main()
{
    ivec4 q = a / max(abs(a.wzyx), 1);
    ivec4 m = a % ivec4(7, 3, 16, 10);
    uvec4 u = b / 10u + b % 16u + (b >> 3) + (b << b.yzwx);
    uvec4 hi, lo, carry, borrow;
    umulExtended(b, b.wzyx, hi, lo);
    uvec4 sum = uaddCarry(b, u, carry) + usubBorrow(b, u, borrow);
    ivec4 ihi, ilo;
    imulExtended(a, q, ihi, ilo);
    color = q + m * (a >> 2) + ivec4(hi + lo * carry + borrow + sum) + min(ihi, ilo) + sign(a) * ~a;
}
