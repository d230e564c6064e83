/* Two regions, one after the other. */
#include <stdio.h>

static double values[1000];

int main(void)
{
#pragma omp parallel for num_threads(4)
    for (int i = 0; i < 1000; i++)
        values[i] = i;
#pragma omp parallel for num_threads(4)
    for (int i = 0; i < 1000; i++)
        values[999 - i] += 1;
    printf("%g\n", values[7]);
    return 0;
}
