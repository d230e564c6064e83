// Two functions, each with a loop in one line, which differ so that gcc does not make them one. The first
// argument says how often the second one runs. Prints the CPU seconds of both.
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

static volatile double sink;

static double cpu(void) {
    struct timespec now;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

__attribute__((noinline)) static void steady(long count) {
    double x = 1;
    for (long i = 0; i < count; i++) x = x * 1.0000001 + 1e-9;
    sink = x;
}

__attribute__((noinline)) static void changed(long count) {
    double x = 1;
    for (long i = 0; i < count; i++) x = x * 0.9999999 + 1e-9;
    sink = x;
}

int main(int count, char **arguments) {
    int times = count > 1 ? atoi(arguments[1]) : 1;
    double start = cpu();
    steady(40000000);
    double middle = cpu();
    for (int i = 0; i < times; i++) changed(100000000);
    printf("%.9f %.9f\n", middle - start, cpu() - middle);
    return 0;
}
