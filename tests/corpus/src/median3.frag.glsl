// Median of nine by a sorting network of min and max.
#version 330
uniform sampler2D image;
in vec2 uv;
out vec4 color;
void order(inout vec3 a, inout vec3 b) { vec3 t = min(a, b); b = max(a, b); a = t; }
void main()
{
    vec3 v[9];
    for (int i = 0; i < 9; i++)
        v[i] = texelFetch(image, ivec2(gl_FragCoord.xy) + ivec2(i % 3 - 1, i / 3 - 1), 0).rgb;
    order(v[1], v[2]); order(v[4], v[5]); order(v[7], v[8]);
    order(v[0], v[1]); order(v[3], v[4]); order(v[6], v[7]);
    order(v[1], v[2]); order(v[4], v[5]); order(v[7], v[8]);
    v[3] = max(v[0], v[3]); v[5] = min(v[5], v[8]); order(v[4], v[7]);
    v[6] = max(v[3], v[6]); v[4] = max(v[1], v[4]); v[2] = min(v[2], v[5]);
    v[4] = min(v[4], v[7]); order(v[4], v[2]); v[4] = max(v[6], v[4]); v[4] = min(v[4], v[2]);
    color = vec4(v[4], uv.x);
}
