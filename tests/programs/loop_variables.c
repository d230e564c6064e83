/* Loops that change their own variable, and loops that only look like it. */
#include <stdio.h>

static int a[100], b[100];

int main(void)
{
#pragma omp parallel for num_threads(2)
    for (int i = 0; i < 100; i++) {
        a[i] = i;
        if (i % 10 == 3)
            i++; /* planted */
    }
#pragma omp parallel num_threads(2)
    {
#pragma omp for schedule(dynamic, 10)
        for (int k = 0; k < 100; k++) {
            a[k] = k;
            k += a[k] < 0; /* planted */
        }
    }
#pragma omp parallel for num_threads(2)
    for (int i = 0; i < 100; i++) {
        for (int j = i; j < 100; j++)
            j += a[i] < 0;
        int *k = &b[i];
        *k = i == 3 ? i + +1 : i;
        /* i++; */
    }
    printf("%d %d\n", a[5], b[6]);
    return 0;
}
