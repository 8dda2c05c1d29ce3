// Per-vertex lighting from a uniform block with an array of structures.
#version 430
struct Spot { vec4 position; vec4 direction; vec4 color; };
layout(std140, binding = 0) uniform Scene {
    mat4 view_projection;
    Spot spots[6];
    int count;
} scene;
layout(std140, binding = 1) uniform Object { mat4 model; vec4 tint; } object;
layout(location = 0) in vec4 position;
layout(location = 1) in vec3 normal;
layout(location = 0) out vec4 color;
void main()
{
    vec4 w = object.model * position;
    vec3 n = normalize(mat3(object.model) * normal);
    vec4 sum = vec4(0.0);
    for (int i = 0; i < scene.count; i++) {
        vec3 l = normalize(scene.spots[i].position.xyz - w.xyz);
        float cone = smoothstep(scene.spots[i].direction.w, 1.0, dot(-l, scene.spots[i].direction.xyz));
        sum += scene.spots[i].color * (cone * max(dot(n, l), 0.0));
    }
    color = sum * object.tint;
    gl_Position = scene.view_projection * w;
}
