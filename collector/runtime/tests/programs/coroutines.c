// Regions forked on stacks of the program's own making, with nothing mapped on either side, each of
// them unmapped before the next is made. Two calls lead to them.
#define _GNU_SOURCE
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <ucontext.h>
#include <unistd.h>

enum { ROUNDS = 20 };

static ucontext_t outside, inside;
static volatile int sink;
static void *callers[2];

static __attribute__((noinline)) void region(void) {
#pragma omp parallel num_threads(2)
    sink = 1;
    sink = 5;
}

static __attribute__((noinline)) void first(void) {
    region();
    callers[0] = __builtin_return_address(0);
    sink = 2;
}

static __attribute__((noinline)) void second(void) {
    region();
    callers[1] = __builtin_return_address(0);
    sink = 3;
}

static void body(int which) {
    if (which)
        second();
    else
        first();
    sink = 4;
}

int main(void) {
    long page = sysconf(_SC_PAGESIZE);
    size_t size = 16 * page;
    for (int round = 0; round < ROUNDS; round++) {
        char *memory = mmap(NULL, size + 2 * page, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        mprotect(memory + page, size, PROT_READ | PROT_WRITE);
        getcontext(&inside);
        inside.uc_stack.ss_sp = memory + page;
        inside.uc_stack.ss_size = size;
        inside.uc_link = &outside;
        makecontext(&inside, (void (*)(void))body, 1, round % 2);
        if (swapcontext(&outside, &inside) != 0)
            return EXIT_FAILURE;
        munmap(memory, size + 2 * page);
    }
    printf("first=%p second=%p\n", callers[0], callers[1]);
    return EXIT_SUCCESS;
}
