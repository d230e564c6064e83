/* A blocked factorisation by tasks with dependences, with functions that allocate. */
#include <stdio.h>
#include <stdlib.h>
enum { B = 4, S = 8 };
static double *block[B][B];
static double *fresh(void) { double *it = malloc(S * sizeof *it); for (int k = 0; k < S; k++) it[k] = k + 1; return it; }
static void scale(double *a) { double *work = malloc(S * sizeof *work); for (int k = 0; k < S; k++) work[k] = a[k] / 2; for (int k = 0; k < S; k++) a[k] = work[k]; free(work); }
static void update(double *a, const double *b, const double *c) { for (int k = 0; k < S; k++) a[k] -= b[k] * c[S - 1 - k]; }
int main(void)
{
    for (int i = 0; i < B; i++) for (int j = 0; j < B; j++) block[i][j] = fresh();
#pragma omp parallel num_threads(4)
#pragma omp single nowait
    for (int k = 0; k < B; k++) {
#pragma omp task depend(inout : block[k][k])
        scale(block[k][k]);
        for (int i = k + 1; i < B; i++) {
#pragma omp task depend(in : block[k][k]) depend(inout : block[i][k])
            update(block[i][k], block[k][k], block[k][k]);
        }
        for (int i = k + 1; i < B; i++)
            for (int j = k + 1; j < B; j++) {
#pragma omp task depend(in : block[i][k], block[j][k]) depend(inout : block[i][j])
                update(block[i][j], block[i][k], block[j][k]);
            }
    }
    printf("%d\n", block[3][3][2] < 1e300);
    for (int i = 0; i < B; i++) for (int j = 0; j < B; j++) free(block[i][j]);
    return 0;
}
