// Edge-preserving blur: nested loops with an early skip.
#version 330
uniform sampler2D image;
uniform float range;
in vec2 uv;
out vec4 color;
void main()
{
    ivec2 p = ivec2(gl_FragCoord.xy);
    vec3 centre = texelFetch(image, p, 0).rgb;
    vec3 sum = vec3(0.0);
    float total = 0.0;
    for (int y = -2; y <= 2; y++) {
        for (int x = -2; x <= 2; x++) {
            if (x * x + y * y > 5)
                continue;
            vec3 c = texelFetch(image, p + ivec2(x, y), 0).rgb;
            vec3 d = c - centre;
            float w = exp2(-dot(d, d) * range);
            sum += c * w;
            total += w;
        }
    }
    color = vec4(sum / total, 1.0);
}
