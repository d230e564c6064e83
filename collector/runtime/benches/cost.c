// What OpenMP constructs cost: the least of many rounds, in nanoseconds, one "name value" a line.
#include <omp.h>
#include <stdio.h>
#include <time.h>

enum { ROUNDS = 100, TIMES = 200 };

static volatile int sink;

static double now(void) {
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC_RAW, &time);
    return time.tv_sec * 1e9 + time.tv_nsec;
}

static double least(void (*body)(int), int threads) {
    double best = 1e18;
    for (int round = 0; round < ROUNDS; round++) {
        // Lets the reader catch up: dropping a record is cheaper than writing it.
        nanosleep(&(struct timespec){.tv_nsec = 3000000}, NULL);
        body(threads);
        double start = now();
        for (int i = 0; i < TIMES; i++)
            body(threads);
        double spent = (now() - start) / TIMES;
        if (spent < best)
            best = spent;
    }
    return best;
}

static omp_lock_t lock;

static void locked(int threads) {
    omp_set_lock(&lock);
    sink += threads;
    omp_unset_lock(&lock);
}

static void critical(int threads) {
#pragma omp critical
    sink += threads;
}

// So many in one region, whose own cost is then little.
enum { INSIDE = 100 };

// Recorded as a barrier is, which cannot be timed without a second thread and its scheduling.
static void taskwaits(int threads) {
#pragma omp parallel num_threads(threads)
    for (int i = 0; i < INSIDE; i++) {
#pragma omp taskwait
    }
}

static void tasks(int threads) {
#pragma omp parallel num_threads(threads)
    for (int i = 0; i < INSIDE; i++) {
#pragma omp task
        sink += threads;
    }
}

static void barriers(int threads) {
#pragma omp parallel num_threads(threads)
    for (int i = 0; i < INSIDE; i++) {
#pragma omp barrier
    }
}

static void singles(int threads) {
#pragma omp parallel num_threads(threads)
    for (int i = 0; i < INSIDE; i++) {
#pragma omp single
        sink = threads;
    }
}

static void chunks(int threads) {
#pragma omp parallel num_threads(threads)
#pragma omp for schedule(dynamic, 1)
    for (int i = 0; i < INSIDE; i++)
        sink = threads;
}

static void ordered(int threads) {
#pragma omp parallel num_threads(threads)
#pragma omp for ordered schedule(dynamic, 1)
    for (int i = 0; i < INSIDE; i++) {
#pragma omp ordered
        sink = threads;
    }
}

#ifndef __clang__ // which makes it a loop of the C library's, that no runtime knows of
static long double wide;

static void atomics(int threads) {
#pragma omp parallel num_threads(threads)
    for (int i = 0; i < INSIDE; i++) {
#pragma omp atomic
        wide += 1.0L;
    }
}
#endif

static void region(int threads) {
#pragma omp parallel num_threads(threads)
    sink = threads;
}

// The thread that forks works alone before it does so, for so many dependent multiplications: how far
// the other one has come by then, on its way out of the last region, decides in which of several
// ways their barriers meet, and that weighs more than all else.
static int alone;
static volatile double product;

static void region_after_work(int threads) {
    double value = 1;
    for (int i = 0; i < alone; i++)
        value = value * 1.0000001 + 1e-9;
    product = value;
    region(threads);
}

// The mean over many such ways.
static double region_apart(int threads) {
    static const int works[] = {0, 20, 50, 100, 200, 400};
    enum { WORKS = sizeof works / sizeof *works };
    double sum = 0;
    for (int i = 0; i < WORKS; i++) {
        alone = works[i];
        sum += least(region_after_work, threads);
    }
    return sum / WORKS;
}

// Calls `least` at a depth of so many frames.
__attribute__((noinline)) static double deeper(int depth, int threads) {
    double result = depth > 0 ? deeper(depth - 1, threads) : least(region, threads);
    sink++;
    return result;
}

int main(void) {
    omp_init_lock(&lock);
    region(2);
    printf("lock %f\n", least(locked, 1));
    printf("critical %f\n", least(critical, 1));
    printf("task %f\n", least(tasks, 1) / INSIDE);
    printf("taskwait %f\n", least(taskwaits, 1) / INSIDE);
    printf("barrier-2-threads %f\n", least(barriers, 2) / INSIDE);
    printf("single-2-threads %f\n", least(singles, 2) / INSIDE);
    printf("dynamic-chunk %f\n", least(chunks, 1) / INSIDE);
    printf("ordered-chunk %f\n", least(ordered, 1) / INSIDE);
#ifndef __clang__
    printf("wide-atomic %f\n", least(atomics, 1) / INSIDE);
#endif
    static const int depths[] = {2, 20, 100};
    for (int threads = 1; threads <= 2; threads++)
        for (int i = 0; i < 3; i++)
            printf("region-%d-threads-depth-%d %f\n", threads, depths[i],
                   deeper(depths[i] - 2, threads));
    printf("region-2-threads-apart %f\n", region_apart(2));
    omp_destroy_lock(&lock);
    return 0;
}
