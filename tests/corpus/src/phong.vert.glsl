// Classic per-vertex set-up: eye position and eye normal for a Phong fragment shader.
#version 120
varying vec3 eye_pos;
varying vec3 eye_normal;
void main()
{
    vec4 p = gl_ModelViewMatrix * gl_Vertex;
    eye_pos = p.xyz / p.w;
    eye_normal = normalize(gl_NormalMatrix * gl_Normal);
    gl_TexCoord[0] = gl_TextureMatrix[0] * gl_MultiTexCoord0;
    gl_Position = gl_ProjectionMatrix * p;
}
