// Fragment shader reading and writing a buffer with a nested layout.
#version 430
struct Entry { vec3 v; float f; ivec2 i; };
layout(std430, binding = 0) buffer Store { int total; Entry entries[4]; float tail[]; } store;
layout(location = 0) in vec4 a;
layout(location = 0) out vec4 color;
void main()
{
    int k = int(gl_FragCoord.x) & 3;
    Entry e = store.entries[k];
    store.tail[e.i.x & 7] = a.x + e.f;
    atomicAdd(store.total, e.i.y);
    color = vec4(e.v, e.f) * a + float(store.tail.length());
}
