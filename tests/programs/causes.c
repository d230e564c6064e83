// Plants a cause of waits: `chain`, rank 3 is late, rank 2 waits for it, rank 1 for rank 2, rank 0 for rank 1; `slow`, rank 2
// comes last to each collective operation; `pinned CPU`, rank 1 shares a CPU with whatever else is bound to it. Each rank
// prints what it knows: its number, seconds in the calls that wait, seconds in `slow_here`, seconds from the first barrier to
// the last one.
#define _GNU_SOURCE
#include <mpi.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { ROUNDS = 20 };

static volatile double sink;

static double seconds(clockid_t clock) {
    struct timespec time;
    clock_gettime(clock, &time);
    return time.tv_sec + time.tv_nsec * 1e-9;
}

static double now(void) { return seconds(CLOCK_MONOTONIC_RAW); }

// Spends this much time of a CPU.
#define SPEND(milliseconds)                                                                        \
    do {                                                                                           \
        double end = seconds(CLOCK_THREAD_CPUTIME_ID) + (milliseconds) * 1e-3;                     \
        while (seconds(CLOCK_THREAD_CPUTIME_ID) < end)                                             \
            for (int at = 0; at < 2000; at++)                                                      \
                sink += at;                                                                        \
    } while (0)

// Equal functions would be one.
__attribute__((noipa)) static void slow_here(int milliseconds) { SPEND(milliseconds); }

__attribute__((noipa)) static void fair_share(int milliseconds) { SPEND(milliseconds); }

static double waited, slow;

#define WAIT(call)                                                                                 \
    do {                                                                                           \
        double begin = now();                                                                      \
        call;                                                                                      \
        waited += now() - begin;                                                                   \
    } while (0)

static void late(int milliseconds) {
    double begin = now();
    slow_here(milliseconds);
    slow += now() - begin;
}

static void chain(int rank, int size) {
    int value = 0;
    if (rank == size - 1)
        late(50);
    else
        WAIT(MPI_Recv(&value, 1, MPI_INT, rank + 1, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
    if (rank > 0)
        MPI_Ssend(&value, 1, MPI_INT, rank - 1, 1, MPI_COMM_WORLD);
}

static void reduce(int rank) {
    int value = rank, sum;
    fair_share(5);
    if (rank == 2)
        late(30);
    WAIT(MPI_Allreduce(&value, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD));
}

static void pinned(void) {
    fair_share(10);
    WAIT(MPI_Barrier(MPI_COMM_WORLD));
}

int main(int argc, char **argv) {
    int rank, size;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    if (argc > 2) {
        cpu_set_t cpus;
        sched_getaffinity(0, sizeof cpus, &cpus);
        if (rank == 1)
            CPU_ZERO(&cpus);
        CPU_SET(atoi(argv[2]), &cpus);
        if (rank != 1)
            CPU_CLR(atoi(argv[2]), &cpus);
        sched_setaffinity(0, sizeof cpus, &cpus);
    }
    MPI_Barrier(MPI_COMM_WORLD);
    double begin = now();
    for (int round = 0; round < ROUNDS; round++) {
        if (!strcmp(argv[1], "chain"))
            chain(rank, size);
        else if (!strcmp(argv[1], "slow"))
            reduce(rank);
        else
            pinned();
    }
    MPI_Barrier(MPI_COMM_WORLD);
    printf("%d %.6f %.6f %.6f\n", rank, waited, slow, now() - begin);
    MPI_Finalize();
    return 0;
}
