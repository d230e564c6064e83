// Mutexes, barriers and singles on two threads. Prints the addresses of its locks.
#include <omp.h>
#include <stdio.h>

static omp_lock_t lock;
static omp_nest_lock_t nest;
static int before[2], after, nested, named, unnamed, last, copied;
#pragma omp threadprivate(copied)

int main(void) {
    omp_init_lock(&lock);
    omp_init_nest_lock(&nest);
#pragma omp parallel num_threads(2)
    {
        before[omp_get_thread_num()] = 1;
#pragma omp barrier
        omp_set_lock(&lock);
        after += before[0] + before[1];
        omp_unset_lock(&lock);
        omp_set_nest_lock(&nest);
        omp_set_nest_lock(&nest);
        nested++;
        omp_unset_nest_lock(&nest);
        omp_unset_nest_lock(&nest);
        while (!omp_test_lock(&lock))
            ;
        after++;
        omp_unset_lock(&lock);
        if (omp_test_nest_lock(&nest)) {
            omp_test_nest_lock(&nest);
            omp_unset_nest_lock(&nest);
            omp_unset_nest_lock(&nest);
        }
#pragma omp critical
        unnamed++;
#pragma omp critical(other)
        named++;
#pragma omp single copyprivate(copied)
        copied = 1;
#pragma omp atomic
        last += copied;
    }
    omp_destroy_lock(&lock);
    omp_destroy_nest_lock(&nest);
    printf("lock=%p nest=%p before=%p after=%p\n", (void *)&lock, (void *)&nest, (void *)before,
           (void *)&after);
    return after != 6 || nested != 2 || unnamed != 2 || named != 2 || last != 2;
}
