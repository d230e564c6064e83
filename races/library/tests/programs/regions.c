// Regions in regions, teams, targets on the host, and constructs that are cancelled.
#include <omp.h>
#include <stdio.h>

int main(void) {
    int inner = 0, teams = 0, targets = 0, x = 0, found = 0;
    omp_set_max_active_levels(2);
#pragma omp parallel num_threads(2)
#pragma omp parallel num_threads(2)
#pragma omp atomic
    inner++;
#pragma omp parallel if (0)
    inner++;
#pragma omp teams num_teams(3)
    {
#pragma omp parallel num_threads(2)
#pragma omp atomic
        teams++;
    }
#pragma omp target map(tofrom : targets)
    targets++;
#pragma omp parallel num_threads(2)
#pragma omp single
    {
#pragma omp target map(tofrom : targets) nowait depend(inout : x)
        targets++;
#pragma omp target map(tofrom : targets) nowait depend(inout : x)
        targets++;
#pragma omp taskwait
#pragma omp target map(tofrom : targets)
#pragma omp teams distribute parallel for num_teams(2) num_threads(2) reduction(+ : targets)
        for (int i = 0; i < 10; i++)
            targets++;
    }
#pragma omp parallel num_threads(2)
    {
#pragma omp for schedule(dynamic)
        for (int i = 0; i < 100; i++) {
            if (i == 5) {
#pragma omp atomic
                found++;
            }
#pragma omp cancel for if (i == 5)
        }
#pragma omp single
#pragma omp taskgroup
        {
            for (int i = 0; i < 10; i++)
#pragma omp task
            {
#pragma omp cancel taskgroup if (i == 3)
            }
        }
#pragma omp barrier
#pragma omp cancel parallel
    }
    printf("%d %d %d %d\n", inner, teams, targets, found);
    return inner != 5 || teams != 6 || targets != 13 || found != 1;
}
