/* Regions whose forks are jumps into the runtime, and whose bodies are jumps into the function that
 * they call: no stack ever holds either. */
#include <stdio.h>

static volatile double number = 1;

static __attribute__((noipa)) void work(void)
{
    for (int turn = 0; turn < 4000000; turn++)
        number = number * 0.5 + 1;
}

static __attribute__((noipa)) void either(int first)
{
    if (first) {
#pragma omp parallel
        work();
    } else {
#pragma omp parallel num_threads(2)
        work();
    }
}

static __attribute__((noipa)) void nested(void)
{
#pragma omp parallel num_threads(2)
    {
        work();
#pragma omp parallel num_threads(2)
        work();
    }
}

int main(void)
{
    for (int turn = 0; turn < 6; turn++)
        either(turn & 1);
    nested();
    printf("%g\n", number);
    return 0;
}
