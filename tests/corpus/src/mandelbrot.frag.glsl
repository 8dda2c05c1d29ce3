// Escape-time iteration with an early break and a smooth colour.
#version 330
uniform vec2 centre;
uniform float zoom;
uniform int limit;
in vec2 uv;
out vec4 color;
void main()
{
    vec2 c = centre + uv * zoom;
    vec2 z = vec2(0.0);
    int n = 0;
    while (n < limit) {
        z = vec2(z.x * z.x - z.y * z.y, 2.0 * z.x * z.y) + c;
        if (dot(z, z) > 16.0)
            break;
        n++;
    }
    float s = float(n) - log2(max(log2(dot(z, z)), 1e-6)) + 4.0;
    color = n == limit ? vec4(0.0, 0.0, 0.0, 1.0) : vec4(0.5 + 0.5 * cos(s * vec3(0.1, 0.2, 0.3)), 1.0);
}
