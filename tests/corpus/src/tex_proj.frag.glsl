// All projections of a 2D fetch, with bias and lod.
#version 330
uniform sampler2D image;
uniform sampler1D line;
uniform sampler3D volume;
uniform sampler2DRect rect;
in vec4 q;
out vec4 color;
void main()
{
    vec4 a = textureProj(image, q.xyw), b = textureProj(image, q, 1.5);
    vec4 c = textureProjLod(image, q, q.x), d = textureProj(line, q.xw);
    vec4 e = textureProj(volume, q), f = textureProj(rect, q.xyw);
    color = a + b * c + d * e - f;
}
