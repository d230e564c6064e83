// Threads that are made once and sleep: what pools and helpers of many libraries do. They wait in
// `doze`, and say for how long all of them together did.
#include <pthread.h>
#include <stdio.h>
#include <time.h>

enum { SLEEPERS = 12 };

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t woken = PTHREAD_COND_INITIALIZER;
static int awake;
static double slept[SLEEPERS];

static double now(void) {
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC_RAW, &time);
    return time.tv_sec + time.tv_nsec * 1e-9;
}

static __attribute__((noinline)) void doze(double *seconds) {
    double start = now();
    pthread_mutex_lock(&mutex);
    while (!awake)
        pthread_cond_wait(&woken, &mutex);
    pthread_mutex_unlock(&mutex);
    *seconds = now() - start;
}

static void *sleeper(void *seconds) {
    doze(seconds);
    return NULL;
}

int main(void) {
    static volatile double sink;
    pthread_t threads[SLEEPERS];
    for (int i = 0; i < SLEEPERS; i++)
        pthread_create(&threads[i], NULL, sleeper, &slept[i]);
    double start = now();
    while (now() - start < 1.3) {
#pragma omp parallel for num_threads(2)
        for (int i = 0; i < 100000; i++)
            sink = i;
    }
    pthread_mutex_lock(&mutex);
    awake = 1;
    pthread_cond_broadcast(&woken);
    pthread_mutex_unlock(&mutex);
    double sum = 0;
    for (int i = 0; i < SLEEPERS; i++) {
        pthread_join(threads[i], NULL);
        sum += slept[i];
    }
    printf("%f\n", sum);
    return 0;
}
