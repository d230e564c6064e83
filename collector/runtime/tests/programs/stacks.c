// Stacks that a cache could take for one another, or that are hard to unwind. Each function
// prints the return address that the region's context must hold next.
#include <alloca.h>
#include <omp.h>
#include <stdio.h>
#include <string.h>

static volatile int sink;

#define CALLER(name) printf(name "=%p\n", __builtin_return_address(0))

__attribute__((noinline)) static void leaf(void) {
#pragma omp parallel num_threads(2)
    sink++;
    sink++;
}

// A frame of variable size: the same call at two depths, and below it, at one place, stale and
// live return addresses in turn.
__attribute__((noinline)) static void variable(int bytes) {
    volatile char *room = alloca(bytes);
    room[0] = 1;
    leaf();
    sink += room[0];
}

__attribute__((noinline)) static void first(void) {
    CALLER("first");
    variable(64);
    sink++;
}

__attribute__((noinline)) static void second(void) {
    CALLER("second");
    variable(64);
    sink++;
}

__attribute__((noinline)) static void third(void) {
    CALLER("third");
    variable(2048);
    sink++;
}

// A realigned frame: its CFA is an expression.
__attribute__((noinline)) static void realigned(void) {
    _Alignas(64) volatile char room[64];
    CALLER("realigned");
    room[0] = (char)(unsigned long)room;
    leaf();
    sink += room[0];
}

__attribute__((noinline)) static int deep(int depth) {
    if (depth == 0)
        leaf();
    else
        deep(depth - 1);
    return sink++;
}

int main(void) {
    // Unrolled, each round would have return addresses of its own.
    volatile int rounds = 3;
    for (int i = 0; i < rounds; i++) {
        first();
        second();
        third();
        realigned();
        deep(100);
        deep(5000);
    }
    return 0;
}
