// Invariant and precise position arithmetic beside free arithmetic.
#version 430
invariant gl_Position;
layout(location = 0) in vec4 position;
layout(location = 1) in vec3 offset;
layout(location = 0) uniform mat4 mvp;
layout(location = 0) out vec4 shade;
void main()
{
    vec4 p = vec4(position.xyz * offset.x + offset, position.w);
    gl_Position = mvp * p;
    shade = p * offset.y + p;
}
