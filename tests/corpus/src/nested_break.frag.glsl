// Nested loops; break and continue at both depths; values that join at several exits.
#version 330
uniform int rows;
uniform int cols;
uniform float limit;
in vec4 seed;
out vec4 color;
void main()
{
    vec4 acc = seed;
    int steps = 0;
    for (int y = 0; y < rows; y++) {
        float row = 0.0;
        for (int x = 0; x < cols; x++) {
            float v = fract(acc.x * 1.7 + float(x) * 0.31 + float(y) * 0.17);
            if (v < 0.1)
                continue;
            row += v;
            if (row > limit) {
                acc.w = row;
                break;
            }
            acc = acc.yzwx + vec4(v, 0.0, -v, row);
        }
        steps++;
        if (acc.y > limit * 4.0)
            break;
    }
    color = acc / float(steps + 1);
}
