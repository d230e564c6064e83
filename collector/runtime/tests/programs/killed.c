// Regions until somebody ends it.
#include <stdio.h>

static volatile int sink;

int main(void) {
    for (;;) {
#pragma omp parallel num_threads(2)
        sink++;
    }
}
