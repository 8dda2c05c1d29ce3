// Colour grading through a 3D look-up, with dithering from the pixel position.
#version 330
uniform sampler2D image;
uniform sampler3D lut;
in vec2 uv;
out vec4 color;
void main()
{
    vec3 c = clamp(texture(image, uv).rgb, 0.0, 1.0);
    c = texture(lut, c * (31.0 / 32.0) + 0.5 / 32.0).rgb;
    ivec2 p = ivec2(gl_FragCoord.xy) & 3;
    int b = ((p.x ^ p.y) << 2) | p.y;
    color = vec4(c + (float(b) / 16.0 - 0.5) / 255.0, 1.0);
}
