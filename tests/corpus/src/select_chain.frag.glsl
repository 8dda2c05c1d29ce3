// Boolean algebra: any, all, not, relational vectors, nested conditionals.
#version 330
in vec4 a;
in vec4 b;
uniform bvec4 flags;
out vec4 color;
void main()
{
    bvec4 lt = lessThan(a, b);
    bvec4 eq = equal(a, b.wzyx);
    bool x = any(lt) && !all(eq) || flags.x;
    bool y = flags.y ^^ lt.z;
    vec4 r = x ? a : b;
    if (y) {
        if (flags.z)
            r = r.wzyx;
        else if (flags.w)
            r = -r;
    } else {
        r = mix(r, a * b, lt);
    }
    color = r;
}
