// Parallax occlusion: linear search, then one secant step.
#version 330
uniform sampler2D height_map;
uniform sampler2D color_map;
uniform float scale;
in vec2 uv;
in vec3 view;
out vec4 color;
void main()
{
    vec3 v = normalize(view);
    vec2 step_uv = v.xy / v.z * scale / 16.0;
    vec2 p = uv;
    float layer = 0.0;
    float h = 1.0 - textureLod(height_map, p, 0.0).r;
    float previous = h;
    for (int i = 0; i < 16; i++) {
        if (layer >= h)
            break;
        previous = h - layer;
        p -= step_uv;
        layer += 1.0 / 16.0;
        h = 1.0 - textureLod(height_map, p, 0.0).r;
    }
    float after = h - layer;
    float k = after / (after - previous - 1.0 / 16.0);
    color = texture(color_map, mix(p, p + step_uv, k));
}
