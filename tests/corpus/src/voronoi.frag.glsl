// Nearest cell point over a 3x3 neighbourhood: nested loops, running minimum.
#version 330
in vec2 uv;
out vec4 color;
vec2 cell(vec2 i) { return fract(sin(vec2(dot(i, vec2(12.9, 78.2)), dot(i, vec2(39.3, 11.1)))) * 4375.85); }
void main()
{
    vec2 i = floor(uv), f = fract(uv);
    float best = 8.0;
    vec2 who = vec2(0.0);
    for (int y = -1; y <= 1; y++)
        for (int x = -1; x <= 1; x++) {
            vec2 o = vec2(x, y);
            vec2 d = o + cell(i + o) - f;
            float dd = dot(d, d);
            if (dd < best) {
                best = dd;
                who = i + o;
            }
        }
    color = vec4(cell(who), sqrt(best), 1.0);
}
