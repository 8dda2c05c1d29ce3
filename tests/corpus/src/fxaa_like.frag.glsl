// Luma-guided edge smoothing with two probes on either side.
#version 330
uniform sampler2D image;
uniform vec2 texel;
in vec2 uv;
out vec4 color;
void main()
{
    vec3 k = vec3(0.299, 0.587, 0.114);
    float m = dot(texture(image, uv).rgb, k);
    float nw = dot(texture(image, uv + vec2(-1, -1) * texel).rgb, k), ne = dot(texture(image, uv + vec2(1, -1) * texel).rgb, k);
    float sw = dot(texture(image, uv + vec2(-1, 1) * texel).rgb, k), se = dot(texture(image, uv + vec2(1, 1) * texel).rgb, k);
    float lo = min(m, min(min(nw, ne), min(sw, se))), hi = max(m, max(max(nw, ne), max(sw, se)));
    vec2 dir = vec2(-((nw + ne) - (sw + se)), (nw + sw) - (ne + se));
    float reduce = max((nw + ne + sw + se) * 0.03125, 0.0078125);
    dir = clamp(dir / (min(abs(dir.x), abs(dir.y)) + reduce), vec2(-8.0), vec2(8.0)) * texel;
    vec3 a = 0.5 * (texture(image, uv + dir * (1.0 / 3.0 - 0.5)).rgb + texture(image, uv + dir * (2.0 / 3.0 - 0.5)).rgb);
    vec3 b = a * 0.5 + 0.25 * (texture(image, uv - dir * 0.5).rgb + texture(image, uv + dir * 0.5).rgb);
    float lb = dot(b, k);
    color = vec4(lb < lo || lb > hi ? a : b, 1.0);
}
