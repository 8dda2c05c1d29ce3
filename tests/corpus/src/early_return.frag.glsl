// Functions and main with early returns, one inside a loop.
#version 330
uniform vec4 table[12];
in vec4 v;
out vec4 color;
vec4 find(float key)
{
    for (int i = 0; i < 12; i++)
        if (table[i].x >= key)
            return table[i];
    return vec4(-1.0);
}
void main()
{
    if (v.w <= 0.0) {
        color = vec4(0.0);
        return;
    }
    vec4 hit = find(v.x);
    if (hit.x < 0.0) {
        color = v.zyxw;
        return;
    }
    color = mix(hit, v, v.y);
}
