// Two-sided toon bands; gl_FrontFacing flips the normal.
#version 330
uniform vec3 light;
uniform vec3 front_color;
uniform vec3 back_color;
in vec3 normal;
out vec4 color;
void main()
{
    vec3 n = normalize(gl_FrontFacing ? normal : -normal);
    float i = dot(n, light);
    float band = i > 0.95 ? 1.0 : i > 0.5 ? 0.7 : i > 0.2 ? 0.4 : 0.1;
    color = vec4((gl_FrontFacing ? front_color : back_color) * band, 1.0);
}
