// Nine-coefficient irradiance from a uniform array.
#version 330
uniform vec3 sh[9];
in vec3 normal;
out vec4 color;
void main()
{
    vec3 n = normalize(normal);
    vec3 e = sh[0] * 0.282095
        + sh[1] * (0.488603 * n.y) + sh[2] * (0.488603 * n.z) + sh[3] * (0.488603 * n.x)
        + sh[4] * (1.092548 * n.x * n.y) + sh[5] * (1.092548 * n.y * n.z)
        + sh[6] * (0.315392 * (3.0 * n.z * n.z - 1.0))
        + sh[7] * (1.092548 * n.x * n.z) + sh[8] * (0.546274 * (n.x * n.x - n.y * n.y));
    color = vec4(max(e, 0.0), 1.0);
}
