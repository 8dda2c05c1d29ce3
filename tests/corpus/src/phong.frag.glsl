// Phong with one positional light, attenuation and a diffuse map.
#version 120
varying vec3 eye_pos;
varying vec3 eye_normal;
uniform sampler2D diffuse_map;
uniform vec3 light_pos;
uniform vec3 attenuation;
uniform vec4 specular_color;
uniform float shininess;
void main()
{
    vec3 n = normalize(eye_normal);
    vec3 to_light = light_pos - eye_pos;
    float d = length(to_light);
    vec3 l = to_light / d;
    vec3 r = reflect(-l, n);
    vec3 v = normalize(-eye_pos);
    float nl = max(dot(n, l), 0.0);
    float rv = nl > 0.0 ? pow(max(dot(r, v), 0.0), shininess) : 0.0;
    float fade = 1.0 / (attenuation.x + attenuation.y * d + attenuation.z * d * d);
    vec4 base = texture2D(diffuse_map, gl_TexCoord[0].st);
    gl_FragColor = vec4((base.rgb * nl + specular_color.rgb * rv) * fade, base.a);
}
