// Nearest palette entry: loop over a uniform array, dynamic index of the winner.
#version 330
uniform vec4 palette[16];
uniform sampler2D image;
in vec2 uv;
out vec4 color;
void main()
{
    vec3 c = texture(image, uv).rgb;
    int best = 0;
    float bd = 1e9;
    for (int i = 0; i < 16; i++) {
        vec3 d = palette[i].rgb - c;
        float dd = dot(d * d, vec3(2.0, 4.0, 3.0));
        if (dd < bd) { bd = dd; best = i; }
    }
    color = palette[best];
}
