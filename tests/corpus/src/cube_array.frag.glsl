// Cube and array fetches with a rounded layer.
#version 400
uniform samplerCube cube;
uniform sampler2DArray layers;
uniform samplerCubeArray cubes;
uniform sampler1DArray rows;
in vec3 dir;
in float layer;
out vec4 color;
void main()
{
    vec4 a = textureLod(cube, dir, layer);
    vec4 b = texture(layers, vec3(dir.xy, layer));
    vec4 c = texture(cubes, vec4(dir, layer));
    vec4 d = texture(rows, vec2(dir.x, layer), 0.5);
    color = a * b + c * d;
}
