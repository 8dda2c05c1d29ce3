// Tiled matrix product.
#version 430
layout(local_size_x = 8, local_size_y = 8) in;
layout(std430, binding = 0) readonly buffer A { float a[]; };
layout(std430, binding = 1) readonly buffer B { float b[]; };
layout(std430, binding = 2) writeonly buffer C { float c[]; };
layout(location = 0) uniform int n;
shared float ta[8][8];
shared float tb[8][8];
void main()
{
    ivec2 l = ivec2(gl_LocalInvocationID.xy), g = ivec2(gl_GlobalInvocationID.xy);
    float sum = 0.0;
    for (int t = 0; t < n; t += 8) {
        ta[l.y][l.x] = a[g.y * n + t + l.x];
        tb[l.y][l.x] = b[(t + l.y) * n + g.x];
        barrier();
        for (int k = 0; k < 8; k++)
            sum += ta[l.y][k] * tb[k][l.x];
        barrier();
    }
    c[g.y * n + g.x] = sum;
}
