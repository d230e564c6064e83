/* A solver with errors planted by -DBUG: gcc -g -O2 -fopenmp -DBUG=n diverging.c. BUG 0 is right. */
#include <math.h>
#include <omp.h>
#include <stdio.h>
#include <stdlib.h>

#define N 200
#ifndef BUG
#define BUG 0
#endif

static double f[N][N];
double shared_temporary;
int histogram[16];

int main(void)
{
  double (*a)[N], (*b)[N];
  a = malloc(sizeof(double[N][N]));
  b = malloc(sizeof(double[N][N]));
  double change = 0;
  for (int i = 0; i < N; i++)
    for (int j = 0; j < N; j++) {
      a[i][j] = i == 0 ? 1 + j * 1e-3 : 0;
      b[i][j] = a[i][j];
      f[i][j] = sin(i * 0.1) * cos(j * 0.07);
    }
  for (int step = 0; step < 6; step++) {
    change = 0;
#if BUG == 1
#pragma omp parallel for /* private */
    for (int i = 1; i < N - 1; i++)
      for (int j = 1; j < N - 1; j++) {
        shared_temporary = a[i - 1][j] + a[i + 1][j];
        b[i][j] = 0.25 * (shared_temporary + a[i][j - 1] + a[i][j + 1] - 1e-4 * f[i][j]);
      }
#elif BUG == 2
#pragma omp parallel /* boundary */
    {
      int n = omp_get_num_threads(), t = omp_get_thread_num(), part = (N - 2) / n;
      int from = 1 + t * part, to = t == n - 1 ? N - 1 : from + part - (t == 0 && n > 1);
      for (int i = from; i < to; i++)
        for (int j = 1; j < N - 1; j++)
          b[i][j] = 0.25 * (a[i - 1][j] + a[i + 1][j] + a[i][j - 1] + a[i][j + 1] - 1e-4 * f[i][j]);
    }
#elif BUG == 3
#pragma omp parallel for /* carried */
    for (int i = 1; i < N - 1; i++)
      for (int j = 1; j < N - 1; j++)
        b[i][j] = 0.25 * (b[i - 1][j] + a[i + 1][j] + a[i][j - 1] + a[i][j + 1] - 1e-4 * f[i][j]);
#else
#pragma omp parallel for
    for (int i = 1; i < N - 1; i++)
      for (int j = 1; j < N - 1; j++)
        b[i][j] = 0.25 * (a[i - 1][j] + a[i + 1][j] + a[i][j - 1] + a[i][j + 1] - 1e-4 * f[i][j]);
#endif
#pragma omp parallel for reduction(+ : change)
    for (int i = 1; i < N - 1; i++)
      for (int j = 1; j < N - 1; j++)
        change += fabs(b[i][j] - a[i][j]);
#pragma omp parallel for
    for (int i = 1; i < N - 1; i++)
      for (int j = 1; j < N - 1; j++)
        a[i][j] = b[i][j];
#if BUG == 4
#pragma omp parallel /* last */
    {
      if (omp_get_thread_num() == 1)
        histogram[5] += 7;
    }
#endif
  }
  printf("change %.3g\n", change);
  return 0;
}
