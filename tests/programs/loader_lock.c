// A thread takes a mutex while it has the loader's lock, and another one while it holds that mutex: whoever asks the
// loader for something then, waits forever.
#define _GNU_SOURCE
#include <link.h>
#include <pthread.h>
#include <stdio.h>
#include <unistd.h>

static pthread_mutex_t outer = PTHREAD_MUTEX_INITIALIZER, inner = PTHREAD_MUTEX_INITIALIZER;
static volatile int count;

static int visit(struct dl_phdr_info *info, size_t size, void *data) {
    usleep(1000);
    pthread_mutex_lock(&outer);
    count++;
    pthread_mutex_unlock(&outer);
    return 0;
}

static __attribute__((noinline)) void take_both(void) {
    pthread_mutex_lock(&outer);
    usleep(500);
    pthread_mutex_lock(&inner);
    count++;
    pthread_mutex_unlock(&inner);
    pthread_mutex_unlock(&outer);
}

// Each depth is a calling context of its own.
static __attribute__((noinline)) void at_depth(int depth) {
    volatile char frame[64];
    frame[0] = depth;
    if (depth) at_depth(depth - 1);
    else take_both();
    count += frame[0];
}

static void *takes(void *none) {
    for (int i = 0; i < 200; i++) at_depth(i % 40);
    return none;
}

static void *visits(void *none) {
    for (int i = 0; i < 100; i++) dl_iterate_phdr(visit, NULL);
    return none;
}

int main(void) {
    pthread_t threads[2];
    pthread_create(&threads[0], NULL, takes, NULL);
    pthread_create(&threads[1], NULL, visits, NULL);
    for (int i = 0; i < 2; i++) pthread_join(threads[i], NULL);
    return 4;
}
