/* A reduction by hand: partial sums, combined pairwise between barriers. */
int omp_get_thread_num(void);
int omp_get_num_threads(void);
#include <stdio.h>
int main(void)
{
    double part[8][8] = {{0}}, total = 0;
#pragma omp parallel num_threads(4) shared(part, total)
    {
        int me = omp_get_thread_num(), n = omp_get_num_threads();
        double own = 0;
#pragma omp for nowait
        for (int i = 0; i < 1000; i++)
            own += i;
        part[me][0] = own;
        for (int step = 1; step < n; step *= 2) {
#pragma omp barrier
            if (me % (2 * step) == 0 && me + step < n)
                part[me][0] += part[me + step][0];
        }
#pragma omp master
        total = part[0][0];
    }
    printf("%g\n", total);
    return 0;
}
