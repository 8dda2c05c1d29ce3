// Inverse and hyperbolic functions, polar coordinates.
#version 330
in vec4 v;
out vec4 color;
void main()
{
    float a = atan(v.y, v.x), b = acos(clamp(v.z, -1.0, 1.0)), c = asin(v.w), d = atan(v.x);
    vec4 h = vec4(sinh(v.x), cosh(v.y), tanh(v.z), asinh(v.w));
    color = vec4(a, b, c, d) + h * tan(v) + vec4(acosh(1.0 + v.x * v.x), atanh(v.y * 0.5), degrees(v.z), radians(v.w));
}
