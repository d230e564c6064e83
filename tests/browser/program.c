/* Some work in a region, some in a critical section that the other thread waits for. With an argument the
   first of both is done by another function. */
#include <stdio.h>

__attribute__((noinline, noclone)) static double heavy(int count) {
    volatile double sum = 0;
    for (int i = 0; i < count; i++)
        sum += i * 0.5;
    return sum;
}

__attribute__((noinline, noclone)) static double held(int count) {
    volatile double sum = 0;
    for (int i = 0; i < count; i++)
        sum += i;
    return sum;
}

__attribute__((noinline, noclone)) static double rewritten(int count) {
    volatile double sum = 0;
    for (int i = 0; i < count; i += 2)
        sum += i * 0.5;
    return sum;
}

int main(int argc, char **argv) {
    (void)argv;
    double sum = 0;
    for (int step = 0; step < 40; step++) {
#pragma omp parallel reduction(+ : sum)
        {
            sum += argc > 1 ? rewritten(3000000) : heavy(3000000);
#pragma omp critical
            sum += held(1000000);
        }
    }
    printf("%g\n", sum);
    return 0;
}
