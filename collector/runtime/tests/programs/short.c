// Each thread takes a lock of its own very often and holds it shortly. Then one thread holds a lock
// for long, and the other waits for it.
#include <omp.h>
#include <unistd.h>

enum { OFTEN = 200000 };

int main(void) {
    static omp_lock_t shared;
    static volatile int sink[2][64];
    omp_init_lock(&shared);
#pragma omp parallel num_threads(2)
    {
        int me = omp_get_thread_num();
        omp_lock_t own;
        omp_init_lock(&own);
        for (int i = 0; i < OFTEN; i++) {
            omp_set_lock(&own);
            sink[me][0]++;
            omp_unset_lock(&own);
        }
#pragma omp barrier
        if (me == 1)
            usleep(10000);
        omp_set_lock(&shared);
        usleep(50000);
        omp_unset_lock(&shared);
        omp_destroy_lock(&own);
    }
    omp_destroy_lock(&shared);
    return 0;
}
