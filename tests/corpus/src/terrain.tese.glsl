// Triangle evaluation with displacement from a height map.
#version 430
layout(triangles, fractional_odd_spacing, ccw) in;
in vec3 control[];
patch in vec4 extent;
uniform sampler2D height;
uniform mat4 view_projection;
out vec3 normal;
void main()
{
    vec3 p = gl_TessCoord.x * control[0] + gl_TessCoord.y * control[1] + gl_TessCoord.z * control[2];
    float h = textureLod(height, p.xz, 0.0).r;
    vec2 e = vec2(1.0 / 256.0, 0.0);
    float hx = textureLod(height, p.xz + e.xy, 0.0).r, hz = textureLod(height, p.xz + e.yx, 0.0).r;
    normal = normalize(vec3(h - hx, e.x, h - hz));
    p.y += h * extent.w;
    gl_Position = view_projection * vec4(p, 1.0);
}
