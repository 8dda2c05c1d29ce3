// Isolines in point mode.
#version 430
layout(isolines, point_mode) in;
void main()
{
    vec4 p = mix(gl_in[0].gl_Position, gl_in[1].gl_Position, gl_TessCoord.x);
    p.y += gl_TessCoord.y * sin(gl_TessCoord.x * 6.2831853) + float(gl_PrimitiveID);
    gl_Position = p;
}
