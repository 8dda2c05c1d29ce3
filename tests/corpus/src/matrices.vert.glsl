// inverse, transpose, determinant, matrixCompMult and outerProduct.
#version 330
in vec4 position;
in vec3 normal;
uniform mat4 model;
uniform mat4 view;
uniform mat3 extra;
out vec3 n_out;
out vec4 misc;
void main()
{
    mat4 mv = view * model;
    mat3 nm = transpose(inverse(mat3(mv)));
    n_out = nm * normal;
    mat3 c = matrixCompMult(extra, outerProduct(normal, position.xyz));
    misc = vec4(c[0] + c[1] + c[2], determinant(extra));
    gl_Position = inverse(mv) * position;
}
