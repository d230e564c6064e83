// Rank 1 comes 100 ms late to a barrier, holds a lock for 100 ms for which rank 0 waits, and sets a flag 100 ms late.
#include <shmem.h>
#include <time.h>

static long lock, flag;

static void sleep_ms(long milliseconds) {
    struct timespec time = {0, milliseconds * 1000000};
    nanosleep(&time, 0);
}

int main(void) {
    shmem_init();
    int me = shmem_my_pe();
    shmem_barrier_all();
    if (me == 1)
        sleep_ms(100);
    shmem_barrier_all();
    if (me == 1) {
        shmem_set_lock(&lock);
        shmem_barrier_all();
        sleep_ms(100);
        shmem_clear_lock(&lock);
    } else {
        shmem_barrier_all();
        shmem_set_lock(&lock);
        shmem_clear_lock(&lock);
    }
    shmem_barrier_all();
    if (me == 1) {
        sleep_ms(100);
        shmem_long_p(&flag, 1, 0);
        shmem_quiet();
    } else {
        shmem_long_wait_until(&flag, SHMEM_CMP_EQ, 1);
    }
    shmem_finalize();
    return 0;
}
