/* User time in two functions, system time, and sleep, all by measure; then says what getrusage
 * says of it. Ends with status 7. */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

static double now(clockid_t clock) {
    struct timespec t;
    clock_gettime(clock, &t);
    return t.tv_sec + t.tv_nsec * 1e-9;
}

static volatile double sink;

__attribute__((noinline)) void busy_a(double seconds) {
    double end = now(CLOCK_THREAD_CPUTIME_ID) + seconds;
    while (now(CLOCK_THREAD_CPUTIME_ID) < end)
        for (int i = 0; i < 20000; i++) sink += i * 1.5;
}

__attribute__((noinline)) void busy_b(double seconds) {
    double end = now(CLOCK_THREAD_CPUTIME_ID) + seconds;
    while (now(CLOCK_THREAD_CPUTIME_ID) < end)
        for (int i = 0; i < 20000; i++) sink += i * 2.5;
}

__attribute__((noinline)) void in_kernel(double seconds) {
    static char bytes[1 << 16];
    int file = open("/dev/urandom", O_RDONLY);
    double end = now(CLOCK_THREAD_CPUTIME_ID) + seconds;
    while (now(CLOCK_THREAD_CPUTIME_ID) < end)
        for (int i = 0; i < 4; i++)
            if (read(file, bytes, sizeof bytes) < 0) abort();
    close(file);
}

__attribute__((noinline)) void asleep(double seconds) {
    for (int i = 0; i < 20; i++) usleep(seconds / 20 * 1e6);
}

int main(void) {
    double start = now(CLOCK_MONOTONIC);
    busy_a(0.6);
    busy_b(0.2);
    in_kernel(0.4);
    double before = now(CLOCK_MONOTONIC);
    asleep(0.4);
    double slept = now(CLOCK_MONOTONIC) - before;
    struct rusage use;
    getrusage(RUSAGE_SELF, &use);
    printf("%.6f %.6f %.6f %.6f\n", now(CLOCK_MONOTONIC) - start,
           use.ru_utime.tv_sec + use.ru_utime.tv_usec * 1e-6,
           use.ru_stime.tv_sec + use.ru_stime.tv_usec * 1e-6, slept);
    return 7;
}
