// Tangent-space normal mapping with a two-channel normal map.
#version 330
uniform sampler2D normal_map;
uniform sampler2D albedo_map;
uniform vec3 light_dir;
in vec2 uv;
in vec3 tangent;
in vec3 bitangent;
in vec3 normal;
out vec4 color;
void main()
{
    vec3 t;
    t.xy = texture(normal_map, uv).xy * 2.0 - 1.0;
    t.z = sqrt(max(1.0 - dot(t.xy, t.xy), 0.0));
    vec3 n = normalize(mat3(tangent, bitangent, normal) * t);
    color = texture(albedo_map, uv) * max(dot(n, normalize(light_dir)), 0.1);
}
