// Regions reached by two paths, with what the stack must hold printed by the program itself.
#include <omp.h>
#include <stdio.h>

static volatile int sink;
static void *in_middle[2], *in_main[2];

__attribute__((noinline)) static void leaf(int path) {
    in_middle[path] = __builtin_return_address(0);
#pragma omp parallel num_threads(2)
    sink += omp_get_thread_num();
    sink++;
}

__attribute__((noinline)) static void middle_a(void) {
    in_main[0] = __builtin_return_address(0);
    leaf(0);
    sink++;
}

// A frame of another size than the other path's, so that the same call site is reached at
// another depth.
__attribute__((noinline)) static void middle_b(void) {
    volatile char room[256];
    room[0] = 1;
    in_main[1] = __builtin_return_address(0);
    leaf(1);
    sink += room[0];
}

int main(void) {
    for (int i = 0; i < 100; i++) {
        middle_a();
        middle_b();
    }
    printf("middle_a=%p middle_b=%p\n", in_middle[0], in_middle[1]);
    printf("main_a=%p main_b=%p main=%p\n", in_main[0], in_main[1], (void *)main);
    return 0;
}
