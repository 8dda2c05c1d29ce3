// Trochoidal waves: horizontal and vertical displacement.
#version 330
in vec2 grid;
uniform vec4 params[6];
uniform mat4 mvp;
uniform float time;
out vec3 binormal;
void main()
{
    vec3 p = vec3(grid.x, 0.0, grid.y);
    vec3 b = vec3(1.0, 0.0, 0.0);
    for (int i = 0; i < 6; i++) {
        vec2 d = normalize(params[i].xy);
        float k = 6.2831853 / params[i].z;
        float a = params[i].w / k;
        float f = k * (dot(d, grid) - sqrt(9.8 / k) * time);
        p += vec3(d.x * cos(f), sin(f), d.y * cos(f)) * a;
        b += vec3(-d.x * d.x * sin(f), d.x * cos(f), -d.x * d.y * sin(f)) * params[i].w;
    }
    binormal = normalize(b);
    gl_Position = mvp * vec4(p, 1.0);
}
