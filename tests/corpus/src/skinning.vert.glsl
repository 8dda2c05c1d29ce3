// Matrix-palette skinning: four weights, dynamic index into three rows a bone.
#version 330
in vec4 position;
in vec3 normal;
in vec4 weights;
in ivec4 bones;
uniform vec4 palette[96];
uniform mat4 view_projection;
out vec3 n_out;
void main()
{
    vec3 p = vec3(0.0), n = vec3(0.0);
    for (int i = 0; i < 4; i++) {
        int b = bones[i] * 3;
        vec4 r0 = palette[b], r1 = palette[b + 1], r2 = palette[b + 2];
        p += weights[i] * vec3(dot(r0, position), dot(r1, position), dot(r2, position));
        n += weights[i] * vec3(dot(r0.xyz, normal), dot(r1.xyz, normal), dot(r2.xyz, normal));
    }
    n_out = normalize(n);
    gl_Position = view_projection * vec4(p, 1.0);
}
