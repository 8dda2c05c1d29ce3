// Explicit gradients, scaled and rotated; projective gradient too.
#version 330
uniform sampler2D image;
uniform samplerCube cube;
uniform mat2 turn;
in vec4 uv;
out vec4 color;
void main()
{
    vec2 dx = dFdx(uv.xy), dy = dFdy(uv.xy);
    color = textureGrad(image, turn * uv.xy, turn * dx, turn * dy);
    color += textureProjGrad(image, uv.xyw, dx * 0.5, dy * 0.5);
    color *= textureGrad(cube, uv.xyz, vec3(dx, 0.0), vec3(0.0, dy));
}
