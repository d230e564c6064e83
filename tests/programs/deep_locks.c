// Two locks taken in both orders, some calls below what forks: by tasks and by POSIX threads.
#include <omp.h>
#include <pthread.h>
#include <string.h>
#include <unistd.h>

static omp_lock_t a, b;
static pthread_mutex_t first = PTHREAD_MUTEX_INITIALIZER, second = PTHREAD_MUTEX_INITIALIZER;
static int sum;

// Each does something after its calls, which are therefore no jumps.
#define FUNCTION static __attribute__((noinline)) void

FUNCTION take(omp_lock_t *lock) { omp_set_lock(lock); sum++; }
FUNCTION give(omp_lock_t *lock) { omp_unset_lock(lock); sum--; }

FUNCTION take_both(int turn) {
    omp_lock_t *one = turn ? &a : &b, *other = turn ? &b : &a;
    take(one);
    take(other);
    give(other);
    give(one);
    sum++;
}

FUNCTION create_task(int turn) {
#pragma omp task firstprivate(turn)
    {
        take_both(turn);
        usleep(1000);
    }
#pragma omp taskwait
    sum++;
}

FUNCTION tasks(void) {
#pragma omp parallel num_threads(2)
    {
        int turn = omp_get_thread_num();
        usleep(turn * 200000);
        create_task(turn);
    }
    sum++;
}

FUNCTION enter(pthread_mutex_t *mutex) { pthread_mutex_lock(mutex); sum++; }
FUNCTION leave(pthread_mutex_t *mutex) { pthread_mutex_unlock(mutex); sum--; }

FUNCTION enter_both(int turn) {
    pthread_mutex_t *one = turn ? &first : &second, *other = turn ? &second : &first;
    enter(one);
    enter(other);
    leave(other);
    leave(one);
    sum++;
}

static void *body(void *turn) {
    usleep(turn ? 200000 : 0);
    enter_both(turn != NULL);
    return NULL;
}

FUNCTION posix(void) {
    pthread_t threads[2];
    for (int turn = 0; turn < 2; turn++) pthread_create(&threads[turn], NULL, body, turn ? &sum : NULL);
    for (int turn = 0; turn < 2; turn++) pthread_join(threads[turn], NULL);
}

int main(int argc, char **argv) {
    omp_init_lock(&a);
    omp_init_lock(&b);
    if (argc > 1 && strcmp(argv[1], "posix") == 0) posix();
    else tasks();
    omp_destroy_lock(&a);
    omp_destroy_lock(&b);
    return 0;
}
