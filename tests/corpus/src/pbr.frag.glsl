// Metal-rough shading: GGX distribution, Smith visibility, Schlick Fresnel.
#version 330
uniform vec3 light_color;
uniform vec3 ambient;
in vec3 n_in;
in vec3 v_in;
in vec3 l_in;
in vec3 base;
in vec2 metal_rough;
out vec4 color;
const float PI = 3.14159265;
void main()
{
    vec3 n = normalize(n_in), v = normalize(v_in), l = normalize(l_in);
    vec3 h = normalize(v + l);
    float nv = abs(dot(n, v)) + 1e-4;
    float nl = clamp(dot(n, l), 0.0, 1.0);
    float nh = clamp(dot(n, h), 0.0, 1.0);
    float lh = clamp(dot(l, h), 0.0, 1.0);
    float a = metal_rough.y * metal_rough.y;
    float a2 = a * a;
    float f = (nh * a2 - nh) * nh + 1.0;
    float d = a2 / (PI * f * f);
    float gv = nl * sqrt((nv - a2 * nv) * nv + a2);
    float gl = nv * sqrt((nl - a2 * nl) * nl + a2);
    float vis = 0.5 / (gv + gl);
    vec3 f0 = mix(vec3(0.04), base, metal_rough.x);
    vec3 fr = f0 + (1.0 - f0) * pow(1.0 - lh, 5.0);
    vec3 diffuse = base * (1.0 - metal_rough.x) / PI;
    color = vec4((diffuse + d * vis * fr) * light_color * nl + ambient * base, 1.0);
}
