// A program without OpenMP that loads two extensions with a runtime each, one inside the other.
#include <dlfcn.h>
#include <stdio.h>

typedef int (*run_t)(void (*)(void), void (*)(void));
static run_t run_a, run_b;
static void (*meet_a)(void), (*meet_b)(void);
static int good = 1;

// A frame of this program between the extension and its runtime's barrier.
__attribute__((noinline)) static void meet_from_here(void) {
    meet_a();
    __asm__ volatile("");
}

static void inside(void) {
    if (!run_b(0, meet_b))
        __atomic_store_n(&good, 0, __ATOMIC_RELAXED);
}

int main(int argc, char **argv) {
    void *a = dlopen(argv[1], RTLD_NOW | RTLD_LOCAL), *b = dlopen(argv[2], RTLD_NOW | RTLD_LOCAL);
    if (argc != 3 || !a || !b) {
        fprintf(stderr, "%s\n", dlerror());
        return 2;
    }
    run_a = (run_t)dlsym(a, "run"), run_b = (run_t)dlsym(b, "run");
    meet_a = (void (*)(void))dlsym(a, "meet"), meet_b = (void (*)(void))dlsym(b, "meet");
    for (int i = 0; i < 20; i++)
        good &= run_a(inside, meet_from_here) && run_b(0, meet_b);
    return !good;
}
