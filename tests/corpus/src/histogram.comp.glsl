// Histogram with shared atomics, flushed by buffer atomics.
#version 430
layout(local_size_x = 16, local_size_y = 16) in;
layout(rgba8, binding = 0) readonly uniform image2D image;
layout(std430, binding = 0) buffer Bins { uint bins[]; };
shared uint local_bins[256];
void main()
{
    local_bins[gl_LocalInvocationIndex] = 0u;
    barrier();
    ivec2 p = ivec2(gl_GlobalInvocationID.xy);
    if (all(lessThan(p, imageSize(image)))) {
        vec4 c = imageLoad(image, p);
        uint b = uint(clamp(dot(c.rgb, vec3(0.3, 0.6, 0.1)), 0.0, 1.0) * 255.0);
        atomicAdd(local_bins[b], 1u);
    }
    memoryBarrierShared();
    barrier();
    atomicAdd(bins[gl_LocalInvocationIndex], local_bins[gl_LocalInvocationIndex]);
}
