// Four render targets with octahedral normal encoding.
#version 330
uniform sampler2D albedo;
in vec2 uv;
in vec3 normal;
in vec4 clip_now;
in vec4 clip_before;
uniform float roughness;
layout(location = 0) out vec4 o_albedo;
layout(location = 1) out vec2 o_normal;
layout(location = 2) out vec2 o_motion;
layout(location = 3) out float o_rough;
void main()
{
    vec3 n = normal / (abs(normal.x) + abs(normal.y) + abs(normal.z));
    vec2 wrapped = (1.0 - abs(n.yx)) * mix(vec2(-1.0), vec2(1.0), greaterThanEqual(n.xy, vec2(0.0)));
    o_normal = n.z >= 0.0 ? n.xy : wrapped;
    o_albedo = texture(albedo, uv);
    o_motion = clip_now.xy / clip_now.w - clip_before.xy / clip_before.w;
    o_rough = clamp(roughness * o_albedo.a, 0.04, 1.0);
}
