// A library that calls an OMPT tool as LLVM's runtime does around its hidden helper threads and untied
// tasks.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <pthread.h>
#include <stdint.h>
#include <string.h>

typedef struct { uint64_t value; } data;
typedef struct { void *exit, *enter; int exit_flags, enter_flags; } frame;
typedef void (*function)(void);
typedef struct {
    int (*initialize)(function (*lookup)(const char *), int, data *);
    void (*finalize)(data *);
    data tool;
} start_result;

enum { THREAD_BEGIN = 1, PARALLEL_BEGIN = 3, PARALLEL_END = 4, TASK_CREATE = 5, TASK_SCHEDULE = 6 };
enum { ALWAYS = 5, INITIAL = 1, EXPLICIT = 4, UNTIED = 0x10000000, COMPLETE = 1, SWITCH = 7 };

static function callbacks[64];

static int set_callback(int number, function callback)
{
    callbacks[number] = callback;
    return ALWAYS;
}

static function lookup(const char *name)
{
    return strcmp(name, "ompt_set_callback") == 0 ? (function)set_callback : NULL;
}

void runtime_start(void)
{
    start_result *(*start)(unsigned, const char *) = dlsym(RTLD_DEFAULT, "ompt_start_tool");
    start_result *result = start(202011, "fake");
    result->initialize(lookup, 0, &result->tool);
}

void runtime_announce(void)
{
    data thread = {0};
    ((void (*)(unsigned, data *))callbacks[THREAD_BEGIN])(INITIAL, &thread);
}

// The return address is the one of this function's caller, in the program or in the runtime.
__attribute__((noinline)) void runtime_fork(void)
{
    data task = {0}, region = {0};
    frame at = {0};
    const void *code = __builtin_return_address(0);
    ((void (*)(data *, frame *, data *, unsigned, int, const void *))callbacks[PARALLEL_BEGIN])(
        &task, &at, &region, 2, 2, code);
    ((void (*)(data *, data *, int, const void *))callbacks[PARALLEL_END])(&region, &task, 2, code);
}

static void *root(void *announced)
{
    if (announced)
        runtime_announce();
    runtime_fork();
    runtime_fork();
    return NULL;
}

// libomp 14 and 16 do not announce the root of their helpers; later ones do.
void runtime_make_helpers(int announced)
{
    pthread_t thread;
    pthread_create(&thread, NULL, root, announced ? &thread : NULL);
    pthread_join(thread, NULL);
}

static data implicit, untied, next;

static void create(data *task)
{
    frame at = {0};
    ((void (*)(data *, frame *, data *, int, int, const void *))callbacks[TASK_CREATE])(
        &implicit, &at, task, EXPLICIT | UNTIED, 0, __builtin_return_address(0));
}

static void schedule(data *prior, int status, data *task)
{
    ((void (*)(data *, int, data *))callbacks[TASK_SCHEDULE])(prior, status, task);
}

// It continues the task to its end, and is not the last to leave it: no event. Then it executes the
// next one.
static void *other(void *unused)
{
    schedule(&implicit, SWITCH, &untied);
    schedule(&implicit, SWITCH, &next);
    schedule(&next, COMPLETE, &implicit);
    return unused;
}

// The calling thread begins an untied task, which another continues, and is the last to leave it.
void runtime_untied(void)
{
    create(&untied);
    create(&next);
    schedule(&implicit, SWITCH, &untied);
    schedule(&untied, SWITCH, &implicit);
    pthread_t thread;
    pthread_create(&thread, NULL, other, NULL);
    pthread_join(thread, NULL);
    schedule(&untied, COMPLETE, &implicit);
}
