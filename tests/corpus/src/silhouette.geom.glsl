// Adjacency input, conditional line output.
#version 330
layout(triangles_adjacency) in;
layout(line_strip, max_vertices = 6) out;
uniform vec3 eye;
float facing(int a, int b, int c)
{
    vec3 p = gl_in[a].gl_Position.xyz;
    return dot(cross(gl_in[b].gl_Position.xyz - p, gl_in[c].gl_Position.xyz - p), eye - p);
}
void main()
{
    if (facing(0, 2, 4) < 0.0)
        return;
    for (int i = 0; i < 6; i += 2) {
        int n = (i + 2) % 6;
        if (facing(i, i + 1, n) <= 0.0) {
            gl_Position = gl_in[i].gl_Position;
            EmitVertex();
            gl_Position = gl_in[n].gl_Position;
            EmitVertex();
            EndPrimitive();
        }
    }
}
