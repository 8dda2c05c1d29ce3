// Water: four summed directional waves displace the height; the normal comes from the analytic slope.
#version 330
in vec3 position;
uniform mat4 view_projection;
uniform vec4 wave[4];
uniform float time;
out vec3 world;
out vec3 normal;
void main()
{
    vec3 p = position;
    vec2 slope = vec2(0.0);
    for (int i = 0; i < 4; i++) {
        float phase = dot(wave[i].xy, position.xz) + time * wave[i].w;
        p.y += wave[i].z * sin(phase);
        slope += wave[i].xy * (wave[i].z * cos(phase));
    }
    normal = normalize(vec3(-slope.x, 1.0, -slope.y));
    world = p;
    gl_Position = view_projection * vec4(p, 1.0);
}
