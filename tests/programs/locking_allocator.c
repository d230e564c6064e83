/* An allocator with a lock, as the program's own: whoever calls it while it holds the lock waits for ever. */
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static _Alignas(64) char memory[64 << 20];
static size_t used;

static void *take(size_t alignment, size_t size) {
    pthread_mutex_lock(&lock);
    size_t at = (used + 64 + alignment - 1) / alignment * alignment;
    int fits = at + size <= sizeof memory;
    if (fits) {
        memcpy(memory + at - sizeof size, &size, sizeof size);
        used = at + size;
    }
    pthread_mutex_unlock(&lock);
    return fits ? memory + at : 0;
}

void *malloc(size_t size) { return take(64, size); }
void *calloc(size_t count, size_t size) { return take(64, count * size); }
void *memalign(size_t alignment, size_t size) { return take(alignment < 64 ? 64 : alignment, size); }
void *aligned_alloc(size_t alignment, size_t size) { return memalign(alignment, size); }
int posix_memalign(void **block, size_t alignment, size_t size) {
    *block = memalign(alignment, size);
    return *block ? 0 : 12;
}
void free(void *block) {
    (void)block;
    pthread_mutex_lock(&lock);
    pthread_mutex_unlock(&lock);
}
void *realloc(void *block, size_t size) {
    void *larger = take(64, size);
    if (block && larger) {
        size_t before;
        memcpy(&before, (char *)block - sizeof before, sizeof before);
        memcpy(larger, block, before < size ? before : size);
    }
    return larger;
}

int main(void) {
    int count = 0;
#pragma omp parallel num_threads(4) reduction(+ : count)
    {
        void *volatile block = malloc(10);
        count += block != 0;
        free(block);
    }
    printf("%d\n", count);
    return 3;
}
