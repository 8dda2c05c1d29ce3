// Separable Gaussian, five taps with literal weights.
#version 120
uniform sampler2D image;
uniform vec2 step_uv;
void main()
{
    vec2 uv = gl_TexCoord[0].xy;
    vec4 c = texture2D(image, uv) * 0.375;
    c += (texture2D(image, uv + step_uv) + texture2D(image, uv - step_uv)) * 0.25;
    c += (texture2D(image, uv + 2.0 * step_uv) + texture2D(image, uv - 2.0 * step_uv)) * 0.0625;
    gl_FragColor = c;
}
