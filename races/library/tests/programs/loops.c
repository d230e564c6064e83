// Loops of every kind that libgomp schedules, on two threads.
#include <omp.h>
#include <stdio.h>

enum { N = 100 };
static int a[N];

int main(void) {
    int failures = 0;
    long sum = 0;
    omp_set_schedule(omp_sched_dynamic, 7);
#pragma omp parallel num_threads(2)
    {
#pragma omp for schedule(dynamic, 10)
        for (int i = 0; i < N; i++)
            a[i] += i;
#pragma omp for schedule(guided) nowait
        for (int i = N - 1; i >= 0; i -= 3)
            a[i] += 1000;
#pragma omp barrier
#pragma omp for schedule(runtime)
        for (long i = -5; i <= 40; i += 4)
            a[i + 5] += 1;
#pragma omp for schedule(dynamic, 3)
        for (unsigned long long i = 1ull << 63; i < (1ull << 63) + 20; i += 2)
            a[i - (1ull << 63)] += 1;
#pragma omp for schedule(dynamic)
        for (unsigned long long i = 20; i > 5; i -= 5)
            a[i] += 1;
#pragma omp for ordered schedule(static, 4)
        for (int i = 0; i < 18; i++) {
#pragma omp ordered
            sum = sum * 3 % 1009 + i;
        }
#pragma omp for schedule(monotonic : dynamic, 2) reduction(task, + : sum)
        for (int i = 0; i < 10; i++)
            sum += i;
    }
#pragma omp parallel for num_threads(2) schedule(guided, 5)
    for (int i = 10; i < 60; i += 2)
        a[i] += 1;
#pragma omp parallel sections num_threads(2)
    {
#pragma omp section
        a[0]++;
#pragma omp section
        a[1]++;
#pragma omp section
        a[2]++;
    }
    printf("a=%p\n", (void *)a);
    return failures;
}
