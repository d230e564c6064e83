// The least that a tool can do at libgomp's constructs: at each moment that libcollector.so records
// there, one reading of the time stamp counter and two stores into memory of the thread's own. No
// calling context, no look-up of a runtime, no reader. Preloaded, what cost.c then takes longer is
// what no tool that knows these moments goes below on this machine.
//
// For cost.c alone: one outlined function is open at a time, and no region is nested.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdint.h>

enum { WORDS = 1 << 12 };

static __thread volatile uint64_t ring[WORDS] __attribute__((tls_model("initial-exec")));
static __thread unsigned head __attribute__((tls_model("initial-exec")));

static inline void moment(uint64_t what) {
    unsigned at = head % WORDS;
    ring[at] = __builtin_ia32_rdtsc();
    ring[at + 1] = what;
    head += 2;
}

typedef void Body(void *);

static void (*real_parallel)(Body *, void *, unsigned, unsigned);
static void (*real_lock)(void *), (*real_unlock)(void *);
static void (*real_critical)(void), (*real_critical_end)(void);
static void (*real_taskwait)(void), (*real_barrier)(void);

__attribute__((constructor)) static void find(void) {
    real_parallel = dlsym(RTLD_NEXT, "GOMP_parallel");
    real_lock = dlsym(RTLD_NEXT, "omp_set_lock");
    real_unlock = dlsym(RTLD_NEXT, "omp_unset_lock");
    real_critical = dlsym(RTLD_NEXT, "GOMP_critical_start");
    real_critical_end = dlsym(RTLD_NEXT, "GOMP_critical_end");
    real_taskwait = dlsym(RTLD_NEXT, "GOMP_taskwait");
    real_barrier = dlsym(RTLD_NEXT, "GOMP_barrier");
}

// Written where it changes only: a line that all threads read, and nobody writes.
static Body *outlined;

static void body(void *data) {
    moment(1);
    outlined(data);
    moment(2);
}

void GOMP_parallel(Body *function, void *data, unsigned threads, unsigned flags) {
    if (outlined != function)
        outlined = function;
    moment(3);
    real_parallel(body, data, threads, flags);
    moment(4);
}

void omp_set_lock(void *lock) {
    moment(5);
    real_lock(lock);
    moment(6);
}

void omp_unset_lock(void *lock) {
    real_unlock(lock);
    moment(7);
}

void GOMP_critical_start(void) {
    moment(5);
    real_critical();
    moment(6);
}

void GOMP_critical_end(void) {
    real_critical_end();
    moment(7);
}

void GOMP_taskwait(void) {
    moment(8);
    real_taskwait();
    moment(9);
}

void GOMP_barrier(void) {
    moment(8);
    real_barrier();
    moment(9);
}
