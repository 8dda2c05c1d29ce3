// Layer blend modes chosen by a uniform: switch with fall-through.
#version 330
uniform sampler2D below;
uniform sampler2D above;
uniform int mode;
in vec2 uv;
out vec4 color;
void main()
{
    vec4 a = texture(below, uv), b = texture(above, uv);
    vec3 r = b.rgb;
    switch (mode) {
    case 1: r = a.rgb * b.rgb; break;
    case 2: r = 1.0 - (1.0 - a.rgb) * (1.0 - b.rgb); break;
    case 3: r = abs(a.rgb - b.rgb); break;
    case 4:
        r += a.rgb;
    case 5:
        r = min(r, 1.0);
        break;
    case 6: r = mix(2.0 * a.rgb * b.rgb, 1.0 - 2.0 * (1.0 - a.rgb) * (1.0 - b.rgb), step(0.5, a.rgb)); break;
    default: break;
    }
    color = vec4(mix(a.rgb, r, b.a), a.a + b.a - a.a * b.a);
}
