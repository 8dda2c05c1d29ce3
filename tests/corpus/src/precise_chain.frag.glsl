// precise results beside the same free expression; must stay unfused.
#version 430
layout(location = 0) in vec4 a;
layout(location = 1) in vec4 b;
layout(location = 0) out vec4 color;
layout(location = 1) out vec4 other;
void main()
{
    precise vec4 p = a * b + a;
    precise float s = (a.x + b.x) - a.x;
    vec4 f = a * b + a;
    color = p + vec4(s);
    other = f * 2.0 + fma(a, b, f);
}
