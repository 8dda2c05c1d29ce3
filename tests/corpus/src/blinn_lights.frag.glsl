// Blinn-Phong over an array of light structures, dynamic count.
#version 330
struct Light { vec4 position; vec3 color; float radius; };
uniform Light lights[8];
uniform int light_count;
uniform vec3 eye;
uniform float gloss;
in vec3 world;
in vec3 normal;
in vec3 albedo;
out vec4 color;
void main()
{
    vec3 n = normalize(normal);
    vec3 v = normalize(eye - world);
    vec3 sum = albedo * 0.03;
    for (int i = 0; i < light_count; i++) {
        vec3 l = lights[i].position.xyz - world * lights[i].position.w;
        float d2 = dot(l, l);
        if (d2 > lights[i].radius * lights[i].radius)
            continue;
        l *= inversesqrt(d2);
        vec3 h = normalize(l + v);
        float spec = pow(clamp(dot(n, h), 0.0, 1.0), gloss);
        sum += lights[i].color * (albedo * clamp(dot(n, l), 0.0, 1.0) + spec) / (1.0 + d2);
    }
    color = vec4(sum, 1.0);
}
