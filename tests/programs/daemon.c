/* Starts a daemon, by two forks, and exits with 3. Once its parents have ended, the daemon works in a
   parallel region for a second of two threads' CPU time, and writes the CPU time that it measured and its
   process to the file of its argument. */
#define _GNU_SOURCE
#include <fcntl.h>
#include <omp.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

static double cpu(void) {
    struct timespec t;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return t.tv_sec + 1e-9 * t.tv_nsec;
}

__attribute__((noinline, noclone)) static double spin(double seconds) {
    double begin = cpu();
    double now = begin;
    volatile double x = 0;
    while (now < begin + seconds) {
        for (int i = 0; i < 20000; i++)
            x += i;
        now = cpu();
    }
    return now - begin;
}

int main(int argc, char **argv) {
    if (argc < 2)
        return 1;
    pid_t first = getpid();
    if (fork() != 0)
        _exit(3);
    setsid();
    if (fork() != 0)
        _exit(0);
    int null = open("/dev/null", O_RDWR);
    for (int fd = 0; fd < 3; fd++)
        dup2(null, fd);
    /* The shell's view of the program's end: its first process is gone. */
    char path[32];
    snprintf(path, sizeof path, "/proc/%d", (int)first);
    while (access(path, F_OK) == 0)
        usleep(1000);
    double spent = 0;
#pragma omp parallel num_threads(2) reduction(+ : spent)
    spent += spin(0.5);
    FILE *file = fopen(argv[1], "w");
    fprintf(file, "%.6f %d\n", spent, (int)getpid());
    fclose(file);
    return 0;
}
