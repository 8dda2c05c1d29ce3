// Ambient occlusion with a kernel in constants and reconstruction from depth.
#version 330
uniform sampler2D depth;
uniform mat4 inverse_projection;
uniform mat4 projection;
in vec2 uv;
out vec4 color;
const vec3 kernel[6] = vec3[](vec3(0.5, 0.1, 0.3), vec3(-0.3, 0.4, 0.2), vec3(0.1, -0.6, 0.5),
                              vec3(-0.2, -0.2, 0.1), vec3(0.7, 0.3, 0.6), vec3(-0.5, 0.6, 0.4));
vec3 at(vec2 p)
{
    vec4 v = inverse_projection * vec4(vec3(p, texture(depth, p).r) * 2.0 - 1.0, 1.0);
    return v.xyz / v.w;
}
void main()
{
    vec3 p = at(uv);
    vec3 n = normalize(cross(dFdx(p), dFdy(p)));
    float open = 0.0;
    for (int i = 0; i < 6; i++) {
        vec3 k = kernel[i];
        vec3 q = p + k * (dot(k, n) < 0.0 ? -0.5 : 0.5);
        vec4 s = projection * vec4(q, 1.0);
        open += at(s.xy / s.w * 0.5 + 0.5).z > q.z + 0.02 ? 0.0 : 1.0;
    }
    color = vec4(open / 6.0);
}
