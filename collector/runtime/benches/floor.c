// The least that a tool can do at OpenMP's constructs: at each moment that libcollector.so records
// there, one reading of the time stamp counter and two stores into memory of the thread's own. No
// calling context, no look-up of a runtime, no reader. Preloaded, what cost.c then takes longer is
// what no tool that knows these moments goes below on this machine: on LLVM's runtime by OMPT, on
// GNU's by its entry points.
//
// For cost.c and the bench's own programs alone: one outlined function is open at a time, and no region
// is nested.
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

// OMPT, as far as it is needed; numbers are those of the specification (OpenMP 5.2, section 19.4).
typedef void (*Callback)(void);
typedef Callback (*Lookup)(const char *);
typedef int (*SetCallback)(int, Callback);

typedef struct {
    int (*initialize)(Lookup, int, void *);
    void (*finalize)(void *);
    uint64_t data;
} Tool;

enum { PARALLEL_BEGIN = 3, PARALLEL_END, TASK_CREATE, TASK_SCHEDULE, IMPLICIT_TASK };
enum { SYNC_REGION_WAIT = 16, MUTEX_RELEASED, MUTEX_ACQUIRE = 26, MUTEX_ACQUIRED };
enum { SCOPE_BEGIN = 1, JOIN_BARRIER = 9 };

static void at_parallel(void) { moment(3); }
static void at_task_schedule(void) { moment(10); }
static void at_mutex(void) { moment(5); }

// Of a task's creation only the order is told, and of an implicit task only the begin.
static void at_task_create(void) {
    ring[head % WORDS] = 11;
    head += 2;
}

static void at_implicit_task(int endpoint) {
    if (endpoint == SCOPE_BEGIN)
        moment(1);
}

// The end of a join barrier is that of the region.
static void at_wait(int kind, int endpoint) {
    if (endpoint == SCOPE_BEGIN || kind != JOIN_BARRIER)
        moment(8);
}

static int initialize(Lookup lookup, int device, void *data) {
    SetCallback set = (SetCallback)lookup("ompt_set_callback");
    set(PARALLEL_BEGIN, at_parallel);
    set(PARALLEL_END, at_parallel);
    set(TASK_CREATE, at_task_create);
    set(TASK_SCHEDULE, at_task_schedule);
    set(IMPLICIT_TASK, (Callback)at_implicit_task);
    set(SYNC_REGION_WAIT, (Callback)at_wait);
    set(MUTEX_ACQUIRE, at_mutex);
    set(MUTEX_ACQUIRED, at_mutex);
    set(MUTEX_RELEASED, at_mutex);
    return 1;
}

static void finalize(void *data) {}

Tool *ompt_start_tool(unsigned version, const char *runtime) {
    static Tool tool = {initialize, finalize, 0};
    return &tool;
}

typedef void Body(void *);

static void (*real_parallel)(Body *, void *, unsigned, unsigned);
static void (*real_lock)(void *), (*real_unlock)(void *);
static void (*real_critical)(void), (*real_critical_end)(void);
static void (*real_taskwait)(void), (*real_barrier)(void), (*real_ordered_end)(void);
static void (*real_task)(Body *, void *, void *, long, long, _Bool, unsigned, void **, int, void *);

__attribute__((constructor)) static void find(void) {
    real_parallel = dlsym(RTLD_NEXT, "GOMP_parallel");
    real_lock = dlsym(RTLD_NEXT, "omp_set_lock");
    real_unlock = dlsym(RTLD_NEXT, "omp_unset_lock");
    real_critical = dlsym(RTLD_NEXT, "GOMP_critical_start");
    real_critical_end = dlsym(RTLD_NEXT, "GOMP_critical_end");
    real_taskwait = dlsym(RTLD_NEXT, "GOMP_taskwait");
    real_barrier = dlsym(RTLD_NEXT, "GOMP_barrier");
    real_ordered_end = dlsym(RTLD_NEXT, "GOMP_ordered_end");
    real_task = dlsym(RTLD_NEXT, "GOMP_task");
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

// Nobody waits for a turn in a team of one.
void GOMP_ordered_end(void) {
    real_ordered_end();
    moment(7);
}

static Body *task_body;

static void task(void *data) {
    moment(10);
    task_body(data);
    moment(10);
}

void GOMP_task(Body *function, void *data, void *copy, long size, long align, _Bool deferrable,
               unsigned flags, void **depend, int priority, void *detach) {
    if (task_body != function)
        task_body = function;
    at_task_create();
    real_task(task, data, copy, size, align, deferrable, flags, depend, priority, detach);
}
