// Doubles carried around a loop.
#version 430
layout(location = 0) in vec2 uv;
layout(location = 0) uniform dvec2 centre;
layout(location = 1) uniform double zoom;
layout(location = 0) out vec4 color;
void main()
{
    dvec2 c = centre + dvec2(uv) * zoom, z = c;
    int n = 0;
    for (; n < 200; n++) {
        z = dvec2(z.x * z.x - z.y * z.y, 2.0lf * z.x * z.y) + c;
        if (z.x * z.x + z.y * z.y > 4.0lf)
            break;
    }
    color = vec4(float(n) / 200.0, vec2(z), 1.0);
}
