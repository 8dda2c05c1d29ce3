// Six octaves of value noise with a float hash.
#version 330
in vec2 uv;
out vec4 color;
float hash(vec2 p) { return fract(sin(dot(p, vec2(41.3, 289.1))) * 43758.5453); }
float noise(vec2 p)
{
    vec2 i = floor(p), f = fract(p);
    vec2 u = f * f * (3.0 - 2.0 * f);
    return mix(mix(hash(i), hash(i + vec2(1, 0)), u.x),
               mix(hash(i + vec2(0, 1)), hash(i + vec2(1, 1)), u.x), u.y);
}
void main()
{
    float sum = 0.0, amp = 0.5;
    vec2 p = uv * 4.0;
    for (int i = 0; i < 6; i++) {
        sum += amp * noise(p);
        p = mat2(1.6, 1.2, -1.2, 1.6) * p;
        amp *= 0.5;
    }
    color = vec4(vec3(sum), 1.0);
}
