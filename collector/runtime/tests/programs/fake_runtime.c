// A library that calls an OMPT tool as LLVM's runtime does around its hidden helper threads.
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

enum { THREAD_BEGIN = 1, PARALLEL_BEGIN = 3, PARALLEL_END = 4, ALWAYS = 5, INITIAL = 1 };

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
