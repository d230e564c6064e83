/* Inner teams work on what lies in the frames of the outer threads: of chunks, of tasks, and around the loop. */
#include <stdio.h>
void omp_set_max_active_levels(int);
int omp_get_level(void);
enum { N = 32 };
static double rows[8][2 * N];
static __attribute__((noinline)) double sum(const double *v, int n)
{
    double s = 0;
#pragma omp parallel for num_threads(2) reduction(+ : s)
    for (int i = 0; i < n; i++)
        s += v[i];
    return s;
}
static __attribute__((noinline)) long plain(long n)
{
    volatile long local[2 * N];
    for (int i = 0; i < 2 * N; i++)
        local[i] = n;
    return local[3];
}
int main(void)
{
    double all = 0, of_tasks[4] = {0};
    omp_set_max_active_levels(3);
#pragma omp parallel num_threads(3) reduction(+ : all)
    {
        double around[4] = {1, 2, 3, omp_get_level()};
#pragma omp for schedule(dynamic, 1) nowait
        for (int k = 0; k < 30; k++) {
            double local[N];
#pragma omp parallel for num_threads(2) schedule(static)
            for (int i = 0; i < N; i++)
                local[i] = k + around[i % 4];
            if (k < 8) {
#pragma omp parallel sections num_threads(2)
                {
#pragma omp section
                    for (int i = 0; i < N; i++) rows[k][i] = local[i];
#pragma omp section
                    for (int i = 0; i < N; i++) rows[k][N + i] = local[N - 1 - i];
                }
            }
            all += sum(local, N);
        }
        all += plain(3);
        around[1] = all;
        all += around[1];
    }
#pragma omp parallel num_threads(2)
#pragma omp single
    for (int k = 0; k < 4; k++) {
#pragma omp task firstprivate(k) shared(of_tasks)
        {
            double mine[N];
#pragma omp parallel for num_threads(2)
            for (int i = 0; i < N; i++)
                mine[i] = rows[k][i];
            of_tasks[k] = sum(mine, N);
        }
    }
    printf("%d\n", all > 0 && of_tasks[3] > 0);
    return 0;
}
