// floor, ceil, trunc, round, mod, modf, sign, step and friends.
#version 330
in vec4 v;
in vec4 w;
out vec4 color;
void main()
{
    vec4 whole;
    vec4 part = modf(v, whole);
    vec4 r = floor(v) + ceil(w) * trunc(v) - roundEven(w);
    r += mod(v, w) + sign(v) * step(w, v) + part * whole;
    r = mix(r, abs(v), isnan(w));
    color = clamp(r, min(v, w), max(v, w)) + fract(-v);
}
