// Forks regions for as many milliseconds as its first argument says, with as many iterations as its
// second one; then prints, and ends with status 4.
#include <omp.h>
#include <stdio.h>
#include <stdlib.h>

static volatile double sink;

__attribute__((noinline)) static void work(int depth, double x) {
    volatile char room[16];
    room[0] = (char)depth;
    if (depth)
        work(depth - 1, x);
    else
        for (int i = 0; i < 200; i++)
            x = x * 1.0000001 + 1e-9;
    sink = x + room[0];
}

int main(int count, char **arguments) {
    double seconds = count > 1 ? atof(arguments[1]) / 1000 : 0.2, start = omp_get_wtime();
    int iterations = count > 2 ? atoi(arguments[2]) : 100;
    long regions = 0;
    while (omp_get_wtime() - start < seconds) {
#pragma omp parallel num_threads(2)
        for (int i = 0; i < iterations; i++)
            work(i % 30, i);
        regions++;
    }
    puts(regions > 0 ? "done" : "nothing");
    return 4;
}
