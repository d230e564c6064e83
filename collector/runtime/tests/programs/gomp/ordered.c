// Ordered loops: each chunk waits for its turn once, in its first ordered region or, where it has
// none, at the thread's call for the next chunk. A nested team's turns are its own.
#include <omp.h>
#include <stdio.h>

static int sum, last;

static void emit(int i)
{
    sum += i;
    last = i;
}

static void inner(void)
{
#pragma omp parallel for ordered schedule(dynamic, 1) num_threads(2)
    for (int i = 0; i < 6; i++) {
#pragma omp ordered
        emit(0);
    }
}

int main(void)
{
    omp_set_max_active_levels(2);
#pragma omp parallel num_threads(2)
    {
        // 10 chunks of two ordered regions each.
#pragma omp for ordered schedule(dynamic, 2)
        for (int i = 0; i < 20; i++) {
#pragma omp ordered
            emit(i);
        }
        // 12 chunks, every second one without.
#pragma omp for ordered schedule(static, 1)
        for (int i = 0; i < 12; i++) {
            if (i % 2 == 0) {
#pragma omp ordered
                emit(i);
            }
        }
        // 3 chunks of 2, 1 and 1 iterations, in each of which 6 more chunks are dealt with.
#pragma omp for ordered schedule(guided, 1) nowait
        for (int i = 0; i < 4; i++) {
#pragma omp ordered
            {
                inner();
                emit(i);
            }
        }
    }
    // Nobody to wait for.
#pragma omp parallel for ordered schedule(dynamic, 1) num_threads(1)
    for (int i = 0; i < 5; i++) {
#pragma omp ordered
        emit(i);
    }
    printf("%d %d\n", sum, last);
    return 0;
}
