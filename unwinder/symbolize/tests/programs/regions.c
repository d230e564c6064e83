/* Outlined functions. A line that holds `parent NAME` starts a directive in that function. */
#include <stdio.h>

static volatile double sink;

#define NOINLINE __attribute__((noinline))

NOINLINE void simple(int n) {
    double sum = 0;
    sink = n;
#pragma omp parallel for reduction(+ : sum) /* parent simple */
    for (int i = 0; i < n; i++) {
        sum += i;
    }
    sink += sum;
}

NOINLINE void tasks(int n) {
#pragma omp parallel /* parent tasks */
#pragma omp single
    for (int i = 0; i < n; i++) {
#pragma omp task firstprivate(i) /* parent tasks */
        {
            sink += i;
        }
    }
}

NOINLINE void nested(int n) {
#pragma omp parallel num_threads(2) /* parent nested */
    {
        sink += n;
#pragma omp parallel num_threads(2) /* parent nested */
        {
            sink += 2 * n;
        }
    }
}

static inline double helper(double x) {
    return x * x + 1;
}

/* The first statement of the region is inlined from above. */
NOINLINE void inlining(int n) {
    int local[4] = {n, 1, 2, 3};
#pragma omp parallel firstprivate(local) /* parent inlining */
    {
        sink += helper(local[1]);
        sink += helper(local[2]);
    }
}

int main(void) {
    simple(10);
    tasks(3);
    nested(2);
    inlining(4);
#pragma omp parallel /* parent main */
    {
        sink += 1;
    }
    return sink < 0;
}
