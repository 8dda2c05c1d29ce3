// A local array written and read with dynamic indices (insertion sort).
#version 330
in vec4 a;
in vec4 b;
uniform int pick;
out vec4 color;
void main()
{
    float v[8];
    for (int i = 0; i < 4; i++) {
        v[i] = a[i];
        v[i + 4] = b[i];
    }
    for (int i = 1; i < 8; i++) {
        float key = v[i];
        int j = i - 1;
        while (j >= 0 && v[j] > key) {
            v[j + 1] = v[j];
            j--;
        }
        v[j + 1] = key;
    }
    color = vec4(v[pick & 7], v[0], v[3], v[7]);
}
