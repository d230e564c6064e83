// Works for some time on two threads. Built for another C library than GNU's, or as a static program.
#include <pthread.h>
#include <stdio.h>

static void *work(void *argument) {
    volatile double x = 1;
    for (long i = 0; i < 5000000; i++)
        x = x * 0.999 + 0.001;
    return argument;
}

int main(int count, char **arguments) {
    pthread_t thread;
    if (pthread_create(&thread, NULL, work, NULL))
        return 1;
    work(NULL);
    pthread_join(thread, NULL);
    for (int i = 1; i < count; i++)
        printf("%s ", arguments[i]);
    puts("done");
    return 5;
}
