/* Functions that compilers inline, one with a parallel region, and a recursion through tasks. */
#include <stdio.h>

#define INLINE static inline __attribute__((always_inline))

INLINE double innermost(double x)
{
    for (int i = 0; i < 400; i++)
        x = x * 0.999 + 1.0 / (x + 1.0);
    return x;
}

INLINE void kernel(double *a, int n)
{
    #pragma omp parallel for
    for (int i = 0; i < n; i++)
        a[i] = innermost(a[i]);
}

INLINE void step(double *a, int n)
{
    kernel(a, n);
}

static double sums[400];

__attribute__((noinline)) static void descend(int depth)
{
    sums[depth] = innermost(depth) + innermost(depth + 1);
    if (depth > 0) {
        #pragma omp task
        descend(depth - 1);
        #pragma omp taskwait
    }
}

int main(void)
{
    static double a[20000];
    for (int i = 0; i < 20; i++)
        step(a, 20000);
    for (int i = 0; i < 200; i++) {
        #pragma omp parallel
        #pragma omp single
        descend(399);
    }
    printf("%g %g\n", a[0], sums[1]);
    return 0;
}
