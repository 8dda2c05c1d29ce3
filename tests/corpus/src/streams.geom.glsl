// Two vertex streams from one point, and invocations.
#version 400
layout(points, invocations = 2) in;
layout(points, max_vertices = 6) out;
in vec4 data[];
layout(stream = 0) out vec4 keep;
layout(stream = 1) out vec4 reject;
uniform float cut;
void main()
{
    for (int i = 0; i < 3; i++) {
        float v = data[0][i] * float(gl_InvocationID + 1);
        if (v > cut) {
            keep = vec4(v, float(i), 0.0, 1.0);
            gl_Position = data[0];
            EmitStreamVertex(0);
            EndStreamPrimitive(0);
        } else {
            reject = data[0] * v;
            EmitStreamVertex(1);
            EndStreamPrimitive(1);
        }
    }
}
