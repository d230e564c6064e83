// An extension with a runtime of its own, as Python's wheels bring it: built twice.
#include <omp.h>

// Ends in a jump into the runtime: the return address is the caller's.
void meet(void) {
#pragma omp barrier
}

int run(void (*inside)(void), void (*meet_here)(void)) {
    int count = 0, tasks = 0;
#pragma omp parallel num_threads(2) reduction(+ : count)
    {
        count++;
        if (inside)
            inside();
        // Every thread has counted when one of them reads the sum.
#pragma omp critical
        tasks += 100;
        meet_here();
#pragma omp single
        {
            if (tasks == 200)
                count += 10;
#pragma omp task shared(tasks)
            tasks++;
        }
    }
    return count == 12 && tasks == 201;
}
