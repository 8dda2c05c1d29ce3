// Sobel edges from eight constant-offset fetches.
#version 330
uniform sampler2D image;
in vec2 uv;
out vec4 color;
float luma(vec3 c) { return dot(c, vec3(0.2126, 0.7152, 0.0722)); }
void main()
{
    float a = luma(textureOffset(image, uv, ivec2(-1, -1)).rgb), b = luma(textureOffset(image, uv, ivec2(0, -1)).rgb);
    float c = luma(textureOffset(image, uv, ivec2(1, -1)).rgb), d = luma(textureOffset(image, uv, ivec2(-1, 0)).rgb);
    float e = luma(textureOffset(image, uv, ivec2(1, 0)).rgb), f = luma(textureOffset(image, uv, ivec2(-1, 1)).rgb);
    float g = luma(textureOffset(image, uv, ivec2(0, 1)).rgb), h = luma(textureOffset(image, uv, ivec2(1, 1)).rgb);
    float gx = (c + 2.0 * e + h) - (a + 2.0 * d + f);
    float gy = (f + 2.0 * g + h) - (a + 2.0 * b + c);
    color = vec4(vec3(sqrt(gx * gx + gy * gy)), 1.0);
}
