// Distance-based tessellation levels; outputs read back after a barrier.
#version 430
layout(vertices = 3) out;
in vec3 world[];
out vec3 control[];
patch out vec4 extent;
uniform vec3 eye;
uniform float density;
float level(vec3 a, vec3 b)
{
    return clamp(density * distance(a, b) / distance(eye, 0.5 * (a + b)), 1.0, 32.0);
}
void main()
{
    control[gl_InvocationID] = world[gl_InvocationID] + vec3(0.0, 0.1, 0.0);
    gl_out[gl_InvocationID].gl_Position = gl_in[gl_InvocationID].gl_Position;
    barrier();
    if (gl_InvocationID == 0) {
        gl_TessLevelOuter[0] = level(control[1], control[2]);
        gl_TessLevelOuter[1] = level(control[2], control[0]);
        gl_TessLevelOuter[2] = level(control[0], control[1]);
        gl_TessLevelInner[0] = 0.5 * (gl_TessLevelOuter[0] + gl_TessLevelOuter[2]);
        extent = vec4(min(control[0], min(control[1], control[2])), gl_TessLevelInner[0]);
    }
}
