/* Tasks whose bodies end by jumping into the function that they call, which ends by jumping into
 * the runtime: no stack ever holds either. */
#include <stdio.h>

enum { SIZE = 1 << 20, SMALL = 1 << 10 };
static double numbers[SIZE];

static __attribute__((noinline)) void halve(double *from, int count)
{
    for (int turn = 0; turn < 40; turn++)
        for (int at = 0; at < count; at++)
            from[at] = from[at] * 0.5 + turn;
}

static __attribute__((noinline)) void split(double *from, int count)
{
    if (count <= SMALL) {
        halve(from, count);
        return;
    }
#pragma omp task
    split(from, count / 2);
#pragma omp task
    split(from + count / 2, count - count / 2);
#pragma omp taskwait
}

int main(void)
{
    for (int turn = 0; turn < 10; turn++) {
#pragma omp parallel
#pragma omp single
        split(numbers, SIZE);
    }
    printf("%g\n", numbers[SIZE / 3]);
    return 0;
}
