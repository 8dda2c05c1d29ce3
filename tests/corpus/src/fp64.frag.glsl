// Double arithmetic, comparison and conversion.
#version 430
layout(location = 0) in vec4 v;
layout(location = 0) uniform dvec2 scale;
layout(location = 1) uniform double bias;
layout(location = 0) out vec4 color;
void main()
{
    dvec2 d = dvec2(v.xy) * scale + bias;
    double q = d.x / (d.y + 1.0lf);
    q = q > bias ? sqrt(abs(q)) : fract(q);
    dvec2 f = fma(d, scale, dvec2(q, -q));
    color = vec4(float(q), vec2(f), float(min(d.x, d.y)) + float(floor(f.x)));
}
