// A double matrix by a double vector with dynamic choice.
#version 430
layout(location = 0) in vec4 position;
layout(location = 0) uniform dmat4 world[3];
layout(location = 20) uniform int which;
layout(location = 0) out vec4 rest;
void main()
{
    dvec4 p = world[which] * dvec4(position);
    gl_Position = vec4(p - dvec4(1.5lf));
    rest = vec4(dot(p.xyz, p.xyz));
}
