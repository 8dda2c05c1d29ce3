// Old style: fog coordinate, both colours, clip vertex, eye-linear texture generation.
#version 120
void main()
{
    vec4 eye = gl_ModelViewMatrix * gl_Vertex;
    vec3 n = gl_NormalMatrix * gl_Normal;
    vec3 l = normalize(gl_LightSource[0].position.xyz - eye.xyz);
    float d = max(dot(n, l), 0.0);
    gl_FrontColor = gl_FrontLightModelProduct.sceneColor + gl_FrontLightProduct[0].diffuse * d;
    gl_BackColor = vec4(gl_FrontColor.rgb * 0.5, gl_FrontColor.a);
    gl_FrontSecondaryColor = gl_FrontLightProduct[0].specular * pow(d, gl_FrontMaterial.shininess);
    gl_TexCoord[0] = vec4(dot(eye, gl_EyePlaneS[0]), dot(eye, gl_EyePlaneT[0]), 0.0, 1.0);
    gl_FogFragCoord = abs(eye.z);
    gl_ClipVertex = eye;
    gl_Position = ftransform();
}
