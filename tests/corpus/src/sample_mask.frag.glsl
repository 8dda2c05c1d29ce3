// Sample id, sample position, mask in and out, centroid and sample interpolation.
#version 430
layout(location = 0) sample in vec4 a;
layout(location = 1) centroid in vec4 b;
layout(location = 2) in vec4 c;
layout(location = 0) out vec4 color;
void main()
{
    int n = bitCount(gl_SampleMaskIn[0]);
    gl_SampleMask[0] = gl_SampleMaskIn[0] & ~(1 << gl_SampleID);
    color = a * gl_SamplePosition.x + b * float(n) + interpolateAtOffset(c, vec2(0.25, -0.25))
          + interpolateAtCentroid(c) * interpolateAtSample(c, gl_SampleID);
}
