// Projected shadow map: nine percentage-closer taps.
#version 330
uniform sampler2DShadow shadow;
uniform float texel;
in vec4 light_space;
in vec4 base;
out vec4 color;
void main()
{
    vec3 p = light_space.xyz / light_space.w;
    float lit = 0.0;
    for (int y = -1; y <= 1; y++)
        for (int x = -1; x <= 1; x++)
            lit += texture(shadow, vec3(p.xy + vec2(x, y) * texel, p.z));
    color = base * (lit / 9.0 + textureProj(shadow, light_space) * 0.1);
}
