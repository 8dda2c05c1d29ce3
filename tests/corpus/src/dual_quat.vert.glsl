// Dual quaternion blending with antipodality fix.
#version 330
in vec3 position;
in vec2 weights;
in ivec2 bones;
uniform vec4 real_part[32];
uniform vec4 dual_part[32];
uniform mat4 mvp;
void main()
{
    vec4 r = real_part[bones.x] * weights.x, d = dual_part[bones.x] * weights.x;
    float s = dot(real_part[bones.x], real_part[bones.y]) < 0.0 ? -weights.y : weights.y;
    r += real_part[bones.y] * s;
    d += dual_part[bones.y] * s;
    float k = inversesqrt(dot(r, r));
    r *= k;
    d *= k;
    vec3 p = position + 2.0 * cross(r.xyz, cross(r.xyz, position) + r.w * position);
    p += 2.0 * (r.w * d.xyz - d.w * r.xyz + cross(r.xyz, d.xyz));
    gl_Position = mvp * vec4(p, 1.0);
}
