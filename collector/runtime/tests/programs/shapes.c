// Constructs that reach a tool in odd ways: teams, taskloop, a task in place, a detached task,
// dependences, cancellation, nested regions.
#include <omp.h>
#include <stdio.h>

static volatile int sink, rounds = 3;

// A task in place inside another: the runtime does not say at which depth it was called.
__attribute__((noinline)) static void in_place(int depth) {
    sink++;
    if (depth == 0)
        return;
#pragma omp task if (0)
    in_place(depth - 1);
    sink++;
}

int main(void) {
    printf("in_place=%p\n", (void *)in_place);
#pragma omp teams num_teams(2)
    {
#pragma omp parallel num_threads(2)
        sink++;
    }
#pragma omp parallel num_threads(2)
#pragma omp single
    {
#pragma omp taskloop grainsize(2)
        for (int i = 0; i < 8; i++)
            sink++;
        for (int i = 0; i < rounds; i++)
            in_place(3);
        omp_event_handle_t event;
#pragma omp task detach(event)
        sink++;
        omp_fulfill_event(event);
        int x = 0;
#pragma omp task depend(out : x) shared(x)
        x = 1;
#pragma omp taskwait depend(in : x)
        sink += x;
#pragma omp taskgroup
        {
#pragma omp task
            sink++;
        }
    }
#pragma omp parallel num_threads(2)
    {
#pragma omp for
        for (int i = 0; i < 100; i++) {
            sink++;
#pragma omp cancel for
        }
    }
    return 0;
}
