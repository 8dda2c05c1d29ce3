// Work-efficient scan: up-sweep, down-sweep.
#version 430
layout(local_size_x = 32) in;
layout(std430, binding = 0) buffer Data { int data[]; };
shared int s[64];
void main()
{
    int l = int(gl_LocalInvocationID.x);
    int base = int(gl_WorkGroupID.x) * 64;
    s[2 * l] = data[base + 2 * l];
    s[2 * l + 1] = data[base + 2 * l + 1];
    int stride = 1;
    for (int d = 32; d > 0; d >>= 1) {
        barrier();
        if (l < d)
            s[stride * (2 * l + 2) - 1] += s[stride * (2 * l + 1) - 1];
        stride *= 2;
    }
    if (l == 0)
        s[63] = 0;
    for (int d = 1; d < 64; d *= 2) {
        stride >>= 1;
        barrier();
        if (l < d) {
            int a = stride * (2 * l + 1) - 1, b = stride * (2 * l + 2) - 1;
            int t = s[a];
            s[a] = s[b];
            s[b] += t;
        }
    }
    barrier();
    data[base + 2 * l] = s[2 * l];
    data[base + 2 * l + 1] = s[2 * l + 1];
}
