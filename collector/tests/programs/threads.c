/* Three threads beside the main one, each busy for its own CPU time (in units of 0.1 s), one
 * after another; then the name of this program is printed by a new program in its place. */
#include <pthread.h>
#include <stdio.h>
#include <time.h>
#include <unistd.h>

static volatile double sink;

static double cpu(void) {
    struct timespec t;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return t.tv_sec + t.tv_nsec * 1e-9;
}

static void *work(void *argument) {
    double end = cpu() + *(double *)argument;
    while (cpu() < end)
        for (int i = 0; i < 20000; i++) sink += i;
    return 0;
}

int main(void) {
    double seconds[3] = {0.1, 0.2, 0.3};
    for (int i = 0; i < 3; i++) {
        pthread_t thread;
        pthread_create(&thread, 0, work, &seconds[i]);
        pthread_join(thread, 0);
    }
    execl("/bin/echo", "echo", "done", (char *)0);
    return 1;
}
