// Each waiting construct a known number of times.
#include <omp.h>
#include <stdio.h>

static volatile int sink;

int main(void) {
    omp_lock_t lock;
    omp_nest_lock_t nest;
    omp_init_lock(&lock);
    omp_init_nest_lock(&nest);
#pragma omp parallel num_threads(2)
    {
#pragma omp barrier
        for (int i = 0; i < 3; i++) {
#pragma omp critical
            sink++;
        }
        omp_set_lock(&lock);
        sink++;
        omp_unset_lock(&lock);
        omp_set_nest_lock(&nest);
        omp_set_nest_lock(&nest);
        omp_unset_nest_lock(&nest);
        omp_unset_nest_lock(&nest);
#pragma omp for
        for (int i = 0; i < 4; i++)
            sink++;
#pragma omp for ordered schedule(static, 1)
        for (int i = 0; i < 4; i++) {
#pragma omp ordered
            sink++;
        }
    }
    // One thread: no barrier, but an implicit task.
#pragma omp parallel num_threads(1)
    sink++;
    // Nested.
    omp_set_max_active_levels(2);
#pragma omp parallel num_threads(2)
    {
#pragma omp parallel num_threads(2)
        sink++;
    }
    omp_destroy_lock(&lock);
    omp_destroy_nest_lock(&nest);
    printf("pid %d\n", 0);
    return 0;
}
