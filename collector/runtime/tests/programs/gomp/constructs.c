// Each waiting construct of libgomp a known number of times, on two threads.
#include <omp.h>
#include <stdio.h>

static volatile int sink;
static int failures;

static void expect(const char *what, long value, long wanted) {
    if (value != wanted) {
        printf("%s is %ld and not %ld\n", what, value, wanted);
        failures = 1;
    }
}

int main(void) {
    omp_lock_t lock;
    omp_nest_lock_t nest;
    omp_init_lock(&lock);
    omp_init_nest_lock(&nest);
    int shared = 0, locked = 0, tested = 0;
    long sum = 0;
#pragma omp parallel num_threads(2)
    {
#pragma omp barrier
        for (int i = 0; i < 3; i++) {
#pragma omp critical
            shared++;
#pragma omp critical(named)
            sink++;
        }
        omp_set_lock(&lock);
        locked++;
        omp_unset_lock(&lock);
        omp_set_nest_lock(&nest);
        omp_set_nest_lock(&nest);
        omp_unset_nest_lock(&nest);
        omp_unset_nest_lock(&nest);
#pragma omp barrier
#pragma omp master
        {
            tested += omp_test_lock(&lock);
            tested += omp_test_lock(&lock);
            omp_unset_lock(&lock);
            tested += omp_test_nest_lock(&nest);
            tested += omp_test_nest_lock(&nest);
            omp_unset_nest_lock(&nest);
            omp_unset_nest_lock(&nest);
        }
        // A loop that the runtime schedules: its end is no GOMP_barrier.
#pragma omp for schedule(dynamic)
        for (int i = 0; i < 4; i++)
            sink++;
#pragma omp for schedule(dynamic) nowait
        for (int i = 0; i < 4; i++)
            sink++;
#pragma omp sections
        {
#pragma omp section
            sink++;
#pragma omp section
            sink++;
        }
        int copied;
#pragma omp single copyprivate(copied)
        copied = 5;
#pragma omp atomic
        shared += copied;
#pragma omp for ordered schedule(static, 1)
        for (int i = 0; i < 4; i++) {
#pragma omp ordered
            sum = sum * 10 + i;
        }
    }
    expect("shared", shared, 16);
    expect("locked", locked, 2);
    expect("tested", tested, 4);
    expect("sum", sum, 123);
    // The combined forms, each with its own entry point.
    sum = 0;
#pragma omp parallel for num_threads(2) schedule(dynamic) reduction(+ : sum)
    for (int i = 0; i < 10; i++)
        sum += i;
#pragma omp parallel for num_threads(2) schedule(monotonic : dynamic, 2) reduction(+ : sum)
    for (int i = 0; i < 10; i++)
        sum += i;
#pragma omp parallel for num_threads(2) schedule(guided) reduction(+ : sum)
    for (int i = 0; i < 10; i++)
        sum += i;
#pragma omp parallel for num_threads(2) schedule(runtime) reduction(+ : sum)
    for (int i = 0; i < 10; i++)
        sum += i;
#pragma omp parallel sections num_threads(2) reduction(+ : sum)
    {
#pragma omp section
        sum += 20;
#pragma omp section
        sum += 25;
    }
#pragma omp parallel num_threads(2) reduction(task, + : sum)
    sum += 5;
#pragma omp parallel num_threads(1)
    sum += 1;
    expect("sum", sum, 236);
    omp_destroy_lock(&lock);
    omp_destroy_nest_lock(&nest);
    return failures;
}
