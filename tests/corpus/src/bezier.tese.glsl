// Bicubic Bezier evaluation: nested loops over gl_in.
#version 430
layout(quads, equal_spacing, cw) in;
uniform mat4 mvp;
out vec2 uv;
vec4 basis(float t) { float s = 1.0 - t; return vec4(s * s * s, 3.0 * s * s * t, 3.0 * s * t * t, t * t * t); }
void main()
{
    vec4 bu = basis(gl_TessCoord.x), bv = basis(gl_TessCoord.y);
    vec4 p = vec4(0.0);
    for (int j = 0; j < 4; j++)
        for (int i = 0; i < 4; i++)
            p += bu[i] * bv[j] * gl_in[j * 4 + i].gl_Position;
    uv = gl_TessCoord.xy;
    gl_Position = mvp * p;
}
