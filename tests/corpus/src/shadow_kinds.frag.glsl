// Every shadow target: 1D, 2D array, cube, rectangle.
#version 400
uniform sampler1DShadow s1;
uniform sampler2DArrayShadow sa;
uniform samplerCubeShadow sc;
uniform sampler2DRectShadow sr;
uniform samplerCubeArrayShadow sca;
uniform sampler1DArrayShadow s1a;
in vec4 p;
out vec4 color;
void main()
{
    float a = texture(s1, p.xyz);
    float b = texture(sa, p);
    float c = texture(sc, p);
    float d = texture(sr, p.xyz);
    float e = texture(sca, p, 0.5);
    float f = texture(s1a, p.xyz);
    color = vec4(a + b, c * d, e, f);
}
