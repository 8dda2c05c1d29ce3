// Sphere tracing of a union of shapes with soft shadow: two loops, function calls, early return.
#version 330
uniform vec3 sun;
in vec3 origin;
in vec3 direction;
out vec4 color;
float scene(vec3 p)
{
    float ball = length(p - vec3(0.0, 1.0, 0.0)) - 1.0;
    vec3 q = abs(p - vec3(2.0, 0.5, 0.0)) - vec3(0.5);
    float box = length(max(q, 0.0)) + min(max(q.x, max(q.y, q.z)), 0.0);
    return min(min(ball, box), p.y);
}
void main()
{
    vec3 d = normalize(direction);
    float t = 0.0;
    bool hit = false;
    for (int i = 0; i < 48; i++) {
        float h = scene(origin + d * t);
        if (h < 0.001 * t) { hit = true; break; }
        t += h;
        if (t > 40.0) break;
    }
    if (!hit) {
        color = vec4(mix(vec3(0.5, 0.7, 0.9), vec3(0.1, 0.3, 0.6), d.y), 1.0);
        return;
    }
    vec3 p = origin + d * t;
    vec2 e = vec2(0.001, 0.0);
    vec3 n = normalize(vec3(scene(p + e.xyy) - scene(p - e.xyy), scene(p + e.yxy) - scene(p - e.yxy),
                            scene(p + e.yyx) - scene(p - e.yyx)));
    float shade = 1.0, s = 0.05;
    for (int i = 0; i < 16; i++) {
        float h = scene(p + sun * s);
        shade = min(shade, 8.0 * h / s);
        s += clamp(h, 0.02, 0.3);
    }
    color = vec4(vec3(clamp(dot(n, sun), 0.0, 1.0) * clamp(shade, 0.0, 1.0)), 1.0);
}
