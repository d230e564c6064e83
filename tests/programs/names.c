// Threads with names: one that names itself, and one that the named one makes. Writes the CPU time of
// each.
#define _GNU_SOURCE
#include <pthread.h>
#include <stdio.h>
#include <time.h>

static double spent[2];

static double cpu(void)
{
    struct timespec time;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
    return time.tv_sec + time.tv_nsec / 1e9;
}

static void spin(double seconds)
{
    volatile double sum = 0;
    while (cpu() < seconds)
        for (int i = 0; i < 1000; i++)
            sum += i;
}

static void *second(void *unused)
{
    spin(0.2);
    spent[1] = cpu();
    return unused;
}

static void *first(void *unused)
{
    pthread_setname_np(pthread_self(), "reads\033input");
    spin(0.4);
    pthread_t thread;
    pthread_create(&thread, NULL, second, NULL);
    pthread_join(thread, NULL);
    spent[0] = cpu();
    return unused;
}

int main(void)
{
    pthread_t thread;
    pthread_create(&thread, NULL, first, NULL);
    pthread_join(thread, NULL);
    printf("%f %f\n", spent[0], spent[1]);
    return 0;
}
