// Iterations that wait for others, in two and in eight dimensions, and ordered loops.
#include <omp.h>
#include <stdio.h>

enum { N = 12 };
// Volatile, because GCC takes the waits for functions that change no static variable.
static volatile int grid[N][N];
static volatile int deep[4][2][2][2][2][2][2][3];

int main(void) {
    int failures = 0;
#pragma omp parallel num_threads(2)
    {
#pragma omp for ordered(2) schedule(static, 1)
        for (int i = 0; i < N; i++)
            for (int j = 0; j < N; j++) {
#pragma omp ordered depend(sink : i - 1, j) depend(sink : i, j - 1)
                int up = i ? grid[i - 1][j] : 1, left = j ? grid[i][j - 1] : 1;
                grid[i][j] = (up + left) % 1009;
#pragma omp ordered depend(source)
            }
#pragma omp for ordered(8) schedule(dynamic)
        for (int a = 0; a < 4; a++)
            for (int b = 0; b < 2; b++)
                for (int c = 0; c < 2; c++)
                    for (int d = 0; d < 2; d++)
                        for (int e = 0; e < 2; e++)
                            for (int f = 0; f < 2; f++)
                                for (int g = 0; g < 2; g++)
                                    for (int h = 0; h < 3; h++) {
#pragma omp ordered depend(sink : a - 1, b, c, d, e, f, g, h)
                                        deep[a][b][c][d][e][f][g][h] =
                                            a ? deep[a - 1][b][c][d][e][f][g][h] * 2 + h : h;
#pragma omp ordered depend(source)
                                    }
#pragma omp for ordered(1) schedule(guided)
        for (unsigned long long i = 1ull << 63; i < (1ull << 63) + 20; i++) {
#pragma omp ordered depend(sink : i - 1)
            grid[0][0] += 1;
#pragma omp ordered depend(source)
        }
    }
    int wanted[N][N];
    for (int i = 0; i < N; i++)
        for (int j = 0; j < N; j++) {
            wanted[i][j] = ((i ? wanted[i - 1][j] : 1) + (j ? wanted[i][j - 1] : 1)) % 1009;
            failures |= i + j && grid[i][j] != wanted[i][j];
        }
    failures |= grid[0][0] != 22;
    for (int h = 0; h < 3; h++)
        failures |= deep[3][1][0][1][0][1][0][h] != h * 15;
    return failures;
}
