/* Loops in regions that no directive divides; advice names them, but not the loop around one that is divided. */
#include <stdio.h>

static double first[100], second[100], third[100], sum;

int main(void)
{
#pragma omp parallel num_threads(2)
    for (int i = 1; i < 100; i++) /* first */
        first[i] += i;
#pragma omp parallel num_threads(2)
    {
        double k = 2;
        for (int i = 1; i < 100; i++) { /* second */
            second[i] += i * k;
        }
    }
#pragma omp parallel num_threads(2)
    {
        for (int step = 0; step < 3; step++) {
#pragma omp for
            for (int i = 0; i < 100; i++)
                third[i] = first[i];
            sum += 1;
        }
    }
    printf("%g\n", first[5] + second[3] + third[4] + sum);
    return 0;
}
