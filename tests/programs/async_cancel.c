/* Threads that are cancelled in the middle of their work, wherever they are. */
#include <pthread.h>
#include <stdio.h>
#include <unistd.h>

static volatile double sink;

static void *spin(void *unused) {
    (void)unused;
    pthread_setcanceltype(PTHREAD_CANCEL_ASYNCHRONOUS, 0);
    for (;;) sink += 1;
}

int main(void) {
    int cancelled = 0;
    for (int i = 0; i < 300; i++) {
        pthread_t thread;
        void *result;
        pthread_create(&thread, 0, spin, 0);
        usleep(2000);
        pthread_cancel(thread);
        pthread_join(thread, &result);
        cancelled += result == PTHREAD_CANCELED;
    }
    printf("%d cancelled\n", cancelled);
    return 7;
}
