// Points to quads with primitive id and layer.
#version 330
layout(points) in;
layout(triangle_strip, max_vertices = 4) out;
uniform vec2 size;
uniform mat4 projection;
out vec2 uv;
void main()
{
    vec4 c = gl_in[0].gl_Position;
    for (int i = 0; i < 4; i++) {
        uv = vec2(i & 1, i >> 1);
        gl_Position = projection * (c + vec4((uv - 0.5) * size, 0.0, 0.0));
        gl_PrimitiveID = gl_PrimitiveIDIn;
        gl_Layer = gl_PrimitiveIDIn & 3;
        EmitVertex();
    }
}
