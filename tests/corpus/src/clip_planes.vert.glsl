// User clip distances and a clamped point size.
#version 330
in vec4 position;
uniform mat4 model;
uniform mat4 view_projection;
uniform vec4 planes[4];
out float gl_ClipDistance[4];
void main()
{
    vec4 w = model * position;
    for (int i = 0; i < 4; i++)
        gl_ClipDistance[i] = dot(w, planes[i]);
    gl_Position = view_projection * w;
    gl_PointSize = clamp(64.0 / gl_Position.w, 1.0, 32.0);
}
