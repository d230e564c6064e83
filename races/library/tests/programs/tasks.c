// Tasks of every kind, on two threads. Prints the addresses of its variables.
#include <omp.h>
#include <stdio.h>

static int x, y, z, done;

static void all(void) {
    omp_depend_t object;
#pragma omp task depend(out : x)
    x = 1;
#pragma omp task depend(in : x) depend(inout : y)
    y = x;
#pragma omp task depend(mutexinoutset : z)
    z++;
#pragma omp task depend(mutexinoutset : z)
    z++;
#pragma omp depobj(object) depend(in : y)
#pragma omp task depend(depobj : object) depend(out : done)
    done = y;
#pragma omp taskwait depend(in : done)
#pragma omp depobj(object) destroy
#pragma omp task if (0) untied
    x = 2;
#pragma omp task final(1) mergeable
    {
#pragma omp task
        y = 3;
    }
#pragma omp taskwait
    omp_event_handle_t event;
#pragma omp task detach(event)
    z++;
    omp_fulfill_event(event);
#pragma omp taskgroup
    {
#pragma omp task
        {
#pragma omp task
            x = 5;
        }
    }
#pragma omp taskloop num_tasks(4)
    for (int i = 0; i < 20; i++)
#pragma omp atomic
        done += i;
#pragma omp taskloop grainsize(5) if (0) nogroup
    for (int i = 0; i < 20; i++)
#pragma omp atomic
        done += i;
    int sum = 0;
#pragma omp taskgroup task_reduction(+ : sum)
    {
        for (int i = 0; i < 4; i++)
#pragma omp task in_reduction(+ : sum)
            sum += i;
    }
    done += sum;
}

int main(void) {
#pragma omp parallel num_threads(2)
#pragma omp single
    all();
    printf("x=%p y=%p z=%p done=%p\n", (void *)&x, (void *)&y, (void *)&z, (void *)&done);
    return x != 5 || y != 3 || z != 3 || done != 1 + 190 + 190 + 6;
}
