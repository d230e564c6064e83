// Functions and bodies that end by jumping to the next one, so that no stack shows them.
#include <omp.h>
#include <time.h>

static volatile double sink;
static volatile int turn;

static double now(void) {
    struct timespec t;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return t.tv_sec + 1e-9 * t.tv_nsec;
}

__attribute__((noinline)) void leaf(double seconds) {
    double end = now() + seconds;
    while (now() < end)
        for (int i = 0; i < 2000; i++) sink += i;
}

__attribute__((noinline)) void middle(void) { leaf(0.1); }
__attribute__((noinline)) void of_task(int i) { leaf(0.02 * (1 + i % 2)); }

// Two ways lead to `leaf`: which one was taken, nobody knows.
__attribute__((noinline)) void one(void) { leaf(0.1); }
__attribute__((noinline)) void other(void) { leaf(0.11); }
__attribute__((noinline)) void either(void) {
    if (turn++ & 1)
        one();
    else
        other();
}

__attribute__((noinline)) void inner(void) {
#pragma omp parallel num_threads(2)
    middle();
}

__attribute__((noinline)) void outer(void) {
#pragma omp parallel num_threads(2)
    {
        inner();
        leaf(0.05);
    }
}

__attribute__((noinline)) void tasks(void) {
#pragma omp parallel num_threads(2)
#pragma omp single
    for (int i = 0; i < 10; i++)
#pragma omp task firstprivate(i)
        of_task(i);
}

__attribute__((noinline)) void several(void) {
#pragma omp parallel num_threads(2)
    either();
}

int main(void) {
    omp_set_max_active_levels(2);
    for (int i = 0; i < 3; i++) outer();
    tasks();
    several();
    return 0;
}
