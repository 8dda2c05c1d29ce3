// Water surface: Fresnel mix of a reflection cube and a depth tint.
#version 330
uniform samplerCube sky;
uniform vec3 eye;
uniform vec3 deep;
in vec3 world;
in vec3 normal;
out vec4 color;
void main()
{
    vec3 v = normalize(world - eye);
    vec3 n = normalize(normal);
    float f = 0.02 + 0.98 * pow(1.0 + dot(v, n), 5.0);
    vec3 r = reflect(v, n);
    r.y = abs(r.y);
    color = vec4(mix(deep, texture(sky, r).rgb, clamp(f, 0.0, 1.0)), 1.0);
}
