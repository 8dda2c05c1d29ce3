// Flat normals and a wireframe from screen-space derivatives.
#version 330
in vec3 world;
in vec3 bary;
uniform vec3 light;
out vec4 color;
void main()
{
    vec3 n = normalize(cross(dFdx(world), dFdy(world)));
    vec3 w = fwidth(bary);
    vec3 e = smoothstep(vec3(0.0), w * 1.5, bary);
    float edge = min(min(e.x, e.y), e.z);
    color = vec4(mix(vec3(0.0), vec3(abs(dot(n, light))), edge), 1.0);
}
