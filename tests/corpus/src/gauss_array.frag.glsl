// Gaussian with weights and offsets in uniform arrays, thirteen taps.
#version 330
uniform sampler2D image;
uniform float weight[13];
uniform vec2 offset[13];
in vec2 uv;
out vec4 color;
void main()
{
    vec4 c = vec4(0.0);
    for (int i = 0; i < 13; i++)
        c += weight[i] * texture(image, uv + offset[i]);
    color = c;
}
