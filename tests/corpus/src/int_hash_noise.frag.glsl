// Lattice noise whose hash is integer arithmetic, one octave a loop trip.
#version 330
uniform int octaves;
in vec3 p_in;
out vec4 color;
uint mixbits(uint x)
{
    x ^= x >> 16;
    x *= 0x7feb352du;
    x ^= x >> 15;
    x *= 0x846ca68bu;
    return x ^ (x >> 16);
}
float lattice(ivec3 c)
{
    uint h = mixbits(uint(c.x) + mixbits(uint(c.y) + mixbits(uint(c.z))));
    return float(h & 0xffffu) * (1.0 / 65535.0);
}
void main()
{
    float sum = 0.0, w = 1.0;
    vec3 p = p_in;
    for (int i = 0; i < octaves; i++) {
        ivec3 c = ivec3(floor(p));
        float t = smoothstep(0.0, 1.0, fract(p.x));
        sum += w * mix(lattice(c), lattice(c + ivec3(1, 0, 0)), t);
        p *= 2.03;
        w *= 0.5;
    }
    color = vec4(sum);
}
