// Works for some time on two threads, prints its arguments and some of its environment, and ends with
// status 5. Built for another C library than GNU's, or as a static program.
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

static void *work(void *argument) {
    volatile double x = 1;
    for (long i = 0; i < 1000000; i++)
        x = x * 0.999 + 0.001;
    return argument;
}

int main(int count, char **arguments) {
    static const char *const lists[] = {"LD_PRELOAD", "OMP_TOOL_LIBRARIES", "ASAN_OPTIONS", "OWN"};
    pthread_t thread;
    if (pthread_create(&thread, NULL, work, NULL))
        return 1;
    work(NULL);
    pthread_join(thread, NULL);
    for (int i = 1; i < count; i++)
        printf("%s ", arguments[i]);
    for (int i = 0; i < 4; i++)
        if (getenv(lists[i]))
            printf("%s=%s ", lists[i], getenv(lists[i]));
    puts("done");
    return 5;
}
