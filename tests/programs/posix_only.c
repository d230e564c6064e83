/* Two threads of POSIX take two mutexes in both orders, of which only chance lets one be later. No OpenMP. */
#include <pthread.h>
#include <stdio.h>
#include <unistd.h>

static pthread_mutex_t first = PTHREAD_MUTEX_INITIALIZER, second = PTHREAD_MUTEX_INITIALIZER;

static void take(pthread_mutex_t *one, pthread_mutex_t *other) {
    pthread_mutex_lock(one);
    pthread_mutex_lock(other);
    pthread_mutex_unlock(other);
    pthread_mutex_unlock(one);
}

static void *forwards(void *unused) {
    take(&first, &second);
    return unused;
}

static void *backwards(void *unused) {
    usleep(500000);
    take(&second, &first);
    return unused;
}

int main(void) {
    pthread_t threads[2];
    pthread_create(&threads[0], NULL, backwards, NULL);
    pthread_create(&threads[1], NULL, forwards, NULL);
    pthread_join(threads[0], NULL);
    pthread_join(threads[1], NULL);
    puts("done");
    return 0;
}
