// Old style: colour times texture plus secondary, exponential fog.
#version 120
uniform sampler2D tex;
void main()
{
    vec4 c = gl_Color * texture2DProj(tex, gl_TexCoord[0]);
    c.rgb += gl_SecondaryColor.rgb;
    float f = clamp(exp2(-gl_Fog.density * gl_Fog.density * gl_FogFragCoord * gl_FogFragCoord * 1.442695), 0.0, 1.0);
    gl_FragColor = vec4(mix(gl_Fog.color.rgb, c.rgb, f), c.a);
}
