// What GCC before 4.9 compiled regions to: the thread that forks calls the body by itself.
#include <omp.h>
#include <stdbool.h>
#include <stdio.h>

void GOMP_parallel_start(void (*)(void *), void *, unsigned);
void GOMP_parallel_end(void);
void GOMP_parallel_loop_dynamic_start(void (*)(void *), void *, unsigned, long, long, long, long);
bool GOMP_loop_dynamic_next(long *, long *);
void GOMP_loop_end_nowait(void);

static int ran, sum;

static void inner(void *data) {
    __atomic_add_fetch((int *)data, 1, __ATOMIC_RELAXED);
}

static void outer(void *data) {
    __atomic_add_fetch((int *)data, 1, __ATOMIC_RELAXED);
    GOMP_parallel_start(inner, data, 2);
    inner(data);
    GOMP_parallel_end();
}

static void loop(void *data) {
    long start, end;
    while (GOMP_loop_dynamic_next(&start, &end))
        for (long i = start; i < end; i++)
            __atomic_add_fetch((int *)data, (int)i, __ATOMIC_RELAXED);
    GOMP_loop_end_nowait();
}

int main(void) {
    omp_set_max_active_levels(2);
    for (int i = 0; i < 10; i++) {
        GOMP_parallel_start(outer, &ran, 2);
        outer(&ran);
        GOMP_parallel_end();
    }
    GOMP_parallel_loop_dynamic_start(loop, &sum, 2, 0, 100, 1, 10);
    loop(&sum);
    GOMP_parallel_end();
    return ran != 60 || sum != 4950;
}
