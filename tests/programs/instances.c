/* Instances of regions and tasks, of one construct each, that work for different times. Each line
 * says which instance did so, by its number in the order of creation, and for how many seconds of
 * its threads' CPU time. */
#define _GNU_SOURCE
#include <omp.h>
#include <stdio.h>
#include <time.h>

#define NOINLINE __attribute__((noinline))
#define TASKS 6

static double now(void)
{
    struct timespec time;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
    return (double)time.tv_sec + 1e-9 * (double)time.tv_nsec;
}

/* Works, and returns for how long. */
NOINLINE static double work(double seconds)
{
    double start = now(), end = start;
    while (end < start + seconds)
        end = now();
    return end - start;
}

static int created;

NOINLINE static void alone(double seconds)
{
    double sum = 0;
    int number = ++created;
    #pragma omp parallel num_threads(2) reduction(+ : sum)
    sum += work(seconds);
    printf("CPRID %d %f\n", number, sum);
}

static double inner_sums[2];
static int begun;

/* The same construct from both threads of the outer team, at the same time. */
NOINLINE static void inner(int which)
{
    double sum = 0;
    #pragma omp parallel num_threads(2) reduction(+ : sum)
    {
        #pragma omp atomic write
        begun = 1;
        sum += work(which ? 0.24 : 0.12);
    }
    inner_sums[which] = sum;
}

NOINLINE static void nested(void)
{
    created += 3;
    int number = created - 1;
    #pragma omp parallel num_threads(2)
    {
        int which = omp_get_thread_num(), go = !which;
        while (!go) {
            #pragma omp atomic read
            go = begun;
        }
        inner(which);
    }
    for (int which = 0; which < 2; which++)
        printf("CPRID %d %f\n", number + which, inner_sums[which]);
}

NOINLINE static void tasks(void)
{
    double sums[TASKS];
    created++;
    #pragma omp parallel num_threads(2)
    #pragma omp single
    for (int task = 0; task < TASKS; task++) {
        #pragma omp task firstprivate(task) shared(sums)
        sums[task] = work(0.05 * (task + 1));
    }
    for (int task = 0; task < TASKS; task++)
        printf("TSKID %d %f\n", task + 1, sums[task]);
}

int main(void)
{
    omp_set_max_active_levels(2);
    for (int i = 1; i <= 4; i++)
        alone(0.04 * i);
    nested();
    alone(0.1);
    tasks();
    return 0;
}
