// Ends in the way that its argument names, after some OpenMP.
#define _GNU_SOURCE
#include <omp.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

static volatile double sink;

static void region(void) {
#pragma omp parallel num_threads(2)
    for (int i = 0; i < 1000; i++)
        sink = i;
}

static void at_exit(void) {
    region();
    puts("at exit");
}

static void *exits(void *argument) {
    region();
    exit(atoi(argument));
}

__attribute__((noinline)) static int overflow(int depth) {
    volatile char room[4096];
    room[0] = (char)depth;
    return overflow(depth + 1) + room[0];
}

int main(int count, char **arguments) {
    const char *way = arguments[1], *argument = count > 2 ? arguments[2] : "0";
    atexit(at_exit);
    region();
    puts("begun");
    fflush(stdout);
    // Deaths of this program are of no use to anybody.
    setrlimit(RLIMIT_CORE, &(struct rlimit){0, 0});
    if (strcmp(way, "return") == 0)
        return atoi(argument);
    if (strcmp(way, "exit") == 0)
        exit(atoi(argument));
    if (strcmp(way, "_exit") == 0)
        _exit(atoi(argument));
    if (strcmp(way, "quick_exit") == 0)
        quick_exit(atoi(argument));
    if (strcmp(way, "signal") == 0)
        raise(atoi(argument));
    if (strcmp(way, "abort") == 0)
        abort();
    if (strcmp(way, "overflow") == 0)
        return overflow(0);
    if (strcmp(way, "thread") == 0) {
        pthread_t thread;
        pthread_create(&thread, NULL, exits, arguments[2]);
        pause();
    }
    if (strcmp(way, "region") == 0) {
#pragma omp parallel num_threads(2)
        {
            if (omp_get_thread_num() == 1)
                _exit(atoi(argument));
            pause();
        }
    }
    if (strcmp(way, "main thread") == 0) {
        pthread_t thread;
        pthread_create(&thread, NULL, exits, arguments[2]);
        pthread_exit(NULL);
    }
    if (strcmp(way, "exec") == 0)
        execl("/bin/sh", "sh", "-c", "exit $0", argument, NULL);
    return 99;
}
