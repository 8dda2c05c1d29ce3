// Particle step over an array of structures; dead ones are appended to a free list.
#version 430
struct Particle { vec4 position; vec4 velocity; };
layout(local_size_x = 32) in;
layout(std430, binding = 0) buffer Particles { Particle particles[]; };
layout(std430, binding = 1) buffer Free { uint count; uint slots[]; };
layout(location = 0) uniform float dt;
layout(location = 1) uniform vec4 attractor;
void main()
{
    uint i = gl_GlobalInvocationID.x;
    Particle p = particles[i];
    if (p.position.w <= 0.0)
        return;
    vec3 d = attractor.xyz - p.position.xyz;
    float r2 = max(dot(d, d), 0.01);
    p.velocity.xyz += d * (attractor.w * dt / (r2 * sqrt(r2)));
    p.position.xyz += p.velocity.xyz * dt;
    p.position.w -= dt;
    if (p.position.y < 0.0) {
        p.position.y = -p.position.y;
        p.velocity.y *= -0.7;
    }
    particles[i] = p;
    if (p.position.w <= 0.0)
        slots[atomicAdd(count, 1u)] = i;
}
