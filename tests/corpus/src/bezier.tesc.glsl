// A 16-point patch passed through, with a dynamic index into the inputs.
#version 430
layout(vertices = 16) out;
uniform vec4 levels;
void main()
{
    gl_out[gl_InvocationID].gl_Position = gl_in[gl_InvocationID].gl_Position + 0.001 * gl_in[15 - gl_InvocationID].gl_Position;
    gl_TessLevelOuter[0] = levels.x;
    gl_TessLevelOuter[1] = levels.y;
    gl_TessLevelOuter[2] = levels.x;
    gl_TessLevelOuter[3] = levels.y;
    gl_TessLevelInner[0] = levels.z;
    gl_TessLevelInner[1] = levels.w;
}
