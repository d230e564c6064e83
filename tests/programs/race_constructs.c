// Races in worksharing constructs: static loops, of which no call tells, and others whose calls gcc gives
// other lines than their directives'.
#include <stdio.h>
#define N 1000
static double value[N], last[3], greatest;
static int once;
// Compilers do not move accesses to it.
static volatile int part;
__attribute__((noinline)) static void in_function(int from)
{
    once += from;
    #pragma omp single nowait // single
    for (int i = 0; i < 100; i++)
        value[i] += i;
}
int main(void)
{
    #pragma omp parallel num_threads(2) // parallel
    {
        once = 2;
        #pragma omp for // static
        for (int i = 0; i < N; i++)
            last[i % 3] += i;
        once = 3;
        #pragma omp for schedule(dynamic, 10) // dynamic
        for (int i = 1; i < N; i++)
            value[i] = value[i - 1] + 1;
        once = 4;
        #pragma omp sections // sections
        {
            #pragma omp section
            part = 1;
            #pragma omp section
            last[0] = part + 2;
        }
        #pragma omp for // greatest
        for (int i = 0; i < N; i++)
            if (value[i] > greatest)
                greatest = value[i];
        in_function(1);
        in_function(1);
    }
    printf("%g %g %d %d\n", last[0], greatest, once, part);
}
