// Procedural stripes and rings with smoothstep antialiasing from derivatives.
#version 330
uniform int kind;
in vec3 object;
out vec4 color;
float stripe(float x)
{
    float w = fwidth(x);
    return smoothstep(0.5 - w, 0.5 + w, abs(fract(x) - 0.5) * 2.0);
}
void main()
{
    float r = length(object.xz);
    float v;
    switch (kind) {
    case 0: v = stripe(object.x * 4.0 + sin(object.y * 3.0)); break;
    case 1: v = stripe(r * 10.0 + 0.2 * sin(atan(object.z, object.x) * 7.0)); break;
    case 2: v = stripe(object.x * 8.0) * stripe(object.z * 8.0); break;
    default: v = 0.5; break;
    }
    color = mix(vec4(0.3, 0.15, 0.05, 1.0), vec4(0.9, 0.7, 0.4, 1.0), v);
}
