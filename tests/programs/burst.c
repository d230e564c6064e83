// Makes as many tasks as its first argument says while collect, its parent, is stopped; then a few more.
// Prints when the burst began and ended (CLOCK_MONOTONIC_RAW, nanoseconds).
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

static volatile long sink;

static long long now(void) {
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC_RAW, &time);
    return time.tv_sec * 1000000000LL + time.tv_nsec;
}

static void make(long tasks) {
#pragma omp parallel num_threads(2)
#pragma omp single
    for (long i = 0; i < tasks; i++) {
#pragma omp task
        sink = i;
    }
}

int main(int count, char **arguments) {
    long tasks = count > 1 ? atol(arguments[1]) : 1000000;
    make(100);
    usleep(200000);
    long long begin = now();
    kill(getppid(), SIGSTOP);
    make(tasks);
    kill(getppid(), SIGCONT);
    usleep(500000);
    make(100);
    long long end = now();
    usleep(200000);
    make(100);
    printf("%lld %lld\n", begin, end);
    return 0;
}
