// Counts what is asked of the heap in this process, by whomever. A tool that asks for something moves
// all that the program and its runtime ask for later.
#include <omp.h>
#include <stddef.h>
#include <stdio.h>

extern void *__libc_malloc(size_t);
extern void *__libc_calloc(size_t, size_t);
extern void *__libc_realloc(void *, size_t);
extern void *__libc_memalign(size_t, size_t);

static unsigned long calls;

static void count(void) { __atomic_fetch_add(&calls, 1, __ATOMIC_RELAXED); }

void *malloc(size_t size) {
    count();
    return __libc_malloc(size);
}

void *calloc(size_t items, size_t size) {
    count();
    return __libc_calloc(items, size);
}

void *realloc(void *old, size_t size) {
    count();
    return __libc_realloc(old, size);
}

void *aligned_alloc(size_t alignment, size_t size) {
    count();
    return __libc_memalign(alignment, size);
}

int main(void) {
    static omp_lock_t lock;
    static volatile int sink;
    omp_init_lock(&lock);
    for (int i = 0; i < 10; i++) {
#pragma omp parallel num_threads(2)
        {
            omp_set_lock(&lock);
            sink++;
            omp_unset_lock(&lock);
#pragma omp barrier
#pragma omp critical
            sink++;
        }
    }
    printf("calls=0x%lx\n", calls);
    return 0;
}
