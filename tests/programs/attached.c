/* Works in parallel regions until there is a file `stop` in its folder, or for 60 s. A first thread sleeps
   all the time, others come and go. Prints a line for each round: its begin and end by
   CLOCK_MONOTONIC_RAW, and the CPU time that its threads spent in `spin`. Exits with 7 if no region missed
   a thread. */
#define _GNU_SOURCE
#include <omp.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

static double now(clockid_t clock) {
    struct timespec t;
    clock_gettime(clock, &t);
    return t.tv_sec + 1e-9 * t.tv_nsec;
}

__attribute__((noinline, noclone)) static double spin(double seconds) {
    double begin = now(CLOCK_THREAD_CPUTIME_ID);
    double until = begin;
    volatile double x = 0;
    while (until < begin + seconds) {
        for (int i = 0; i < 20000; i++)
            x += i;
        until = now(CLOCK_THREAD_CPUTIME_ID);
    }
    return until - begin;
}

__attribute__((noinline, noclone)) void doze(void) { pause(); }

static void *sleeper(void *unused) {
    doze();
    return unused;
}

static void *brief(void *sum) {
    *(double *)sum += spin(0.002);
    return NULL;
}

int main(void) {
    pthread_t first;
    pthread_create(&first, NULL, sleeper, NULL);
    double begin = now(CLOCK_MONOTONIC);
    long regions = 0, threads = 0;
    while (access("stop", F_OK) != 0 && now(CLOCK_MONOTONIC) < begin + 60) {
        double spent = 0, spent_brief = 0;
        long count = 0;
        double at = now(CLOCK_MONOTONIC_RAW);
#pragma omp parallel num_threads(2) reduction(+ : spent, count)
        {
            spent += spin(0.004);
            count++;
        }
        pthread_t thread;
        pthread_create(&thread, NULL, brief, &spent_brief);
        pthread_join(thread, NULL);
        regions++;
        threads += count;
        printf("%.9f %.9f %.6f\n", at, now(CLOCK_MONOTONIC_RAW), spent + spent_brief);
        fflush(stdout);
    }
    return threads == 2 * regions ? 7 : 1;
}
