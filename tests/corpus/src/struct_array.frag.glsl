// Arrays of structures, nested, with a dynamic index at the outer level.
#version 330
struct Inner { vec2 scale; float bias; };
struct Outer { Inner part[2]; vec4 tint; };
uniform Outer items[5];
uniform int at;
in vec2 uv;
out vec4 color;
void main()
{
    Outer o = items[at];
    Inner p = o.part[uv.x > 0.5 ? 1 : 0];
    vec2 q = uv * p.scale + p.bias;
    color = o.tint * vec4(q, q.yx);
}
