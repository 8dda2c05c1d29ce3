// A round, lit point from gl_PointCoord, writing depth.
#version 330
uniform vec3 light;
uniform vec4 tint;
out vec4 color;
void main()
{
    vec2 p = gl_PointCoord * 2.0 - 1.0;
    float r2 = dot(p, p);
    if (r2 > 1.0)
        discard;
    vec3 n = vec3(p, sqrt(1.0 - r2));
    color = tint * max(dot(n, light), 0.0);
    gl_FragDepth = gl_FragCoord.z - n.z * 0.01;
}
