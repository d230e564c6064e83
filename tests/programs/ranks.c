/* MPI ranks that run OpenMP regions: each prints its rank, its process and the CPU time that its threads
   spent in `spin`. Exits with its argument; aborts the job for 99. */
#define _GNU_SOURCE
#include <mpi.h>
#include <omp.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

static double cpu(void) {
    struct timespec t;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return t.tv_sec + 1e-9 * t.tv_nsec;
}

__attribute__((noinline, noclone)) static double spin(double seconds) {
    double begin = cpu();
    double now = begin;
    volatile double x = 0;
    while (now < begin + seconds) {
        for (int i = 0; i < 20000; i++)
            x += i;
        now = cpu();
    }
    return now - begin;
}

int main(int argc, char **argv) {
    int status = argc > 1 ? atoi(argv[1]) : 0;
    int rank, size;
    double spent = 0;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    for (int i = 0; i < 5; i++) {
#pragma omp parallel num_threads(2) reduction(+ : spent)
        spent += spin(0.02 * (rank + 1) * (omp_get_thread_num() + 1));
        MPI_Barrier(MPI_COMM_WORLD);
    }
    printf("%d %d %.6f\n", rank, (int)getpid(), spent);
    fflush(stdout);
    if (status == 99 && rank == 0)
        MPI_Abort(MPI_COMM_WORLD, 5);
    MPI_Finalize();
    return status;
}
