/* A hundred children one after another, each of some 0.2 ms. They end by _exit. Says what all took. */
#include <stdio.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

static volatile double sum;

static double seconds(int who) {
    struct rusage usage;
    getrusage(who, &usage);
    return usage.ru_utime.tv_sec + usage.ru_stime.tv_sec +
           (usage.ru_utime.tv_usec + usage.ru_stime.tv_usec) * 1e-6;
}

int main(void) {
    for (int i = 0; i < 100; i++) {
        if (!fork()) {
            for (int k = 0; k < 100000; k++) sum += k;
            _exit(0);
        }
        wait(0);
        usleep(3000);
    }
    printf("%.6f\n", seconds(RUSAGE_SELF) + seconds(RUSAGE_CHILDREN));
    return 0;
}
