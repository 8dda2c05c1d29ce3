// Gaussian whose radius and sigma arrive at run time: exp in a loop.
#version 330
uniform sampler2D image;
uniform int radius;
uniform float sigma;
uniform vec2 dir;
in vec2 uv;
out vec4 color;
void main()
{
    vec4 sum = vec4(0.0);
    float total = 0.0;
    for (int i = -radius; i <= radius; i++) {
        float w = exp(-float(i * i) / (2.0 * sigma * sigma));
        sum += w * textureLod(image, uv + float(i) * dir, 0.0);
        total += w;
    }
    color = sum / total;
}
