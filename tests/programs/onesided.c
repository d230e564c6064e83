// Plants waits of one-sided operations and of collective ones that are begun. Each rank prints its number, and how long it
// had to wait by the times at which the ranks came, in seconds: at fences, for access to be granted, for the end of access,
// for a lock, for the others of MPI_Ibarrier, and for those of MPI_Iallreduce and MPI_Ireduce together.
#include <mpi.h>
#include <stdio.h>
#include <time.h>

enum { ROUNDS = 10, WORDS = 16, RANKS = 4 };

static double now(void) {
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC_RAW, &time);
    return time.tv_sec + time.tv_nsec * 1e-9;
}

static void sleep_for(int milliseconds) {
    struct timespec time = {0, milliseconds * 1000000L};
    nanosleep(&time, NULL);
}

static int rank;
static MPI_Win window;
static long words[WORDS];

// What all ranks have of this kind.
static void exchange(double *own, double *all, int count) {
    MPI_Allgather(own, count, MPI_DOUBLE, all, count, MPI_DOUBLE, MPI_COMM_WORLD);
}

static double last(const double *times) {
    double last = times[0];
    for (int at = 1; at < RANKS; at++)
        last = times[at] > last ? times[at] : last;
    return last;
}

static double positive(double time) { return time > 0 ? time : 0; }

static void put(int target) { MPI_Put(words, 1, MPI_LONG, target, 0, 1, MPI_LONG, window); }

// The last rank comes late.
static double fences(void) {
    double waited = 0, times[RANKS];
    MPI_Win_fence(0, window);
    for (int round = 0; round < ROUNDS; round++) {
        MPI_Barrier(MPI_COMM_WORLD);
        if (rank == RANKS - 1)
            sleep_for(10);
        put((rank + 1) % RANKS);
        double came = now();
        MPI_Win_fence(0, window);
        exchange(&came, times, 1);
        waited += last(times) - came;
    }
    MPI_Win_fence(MPI_MODE_NOSUCCEED, window);
    return waited;
}

// Rank 0 accesses the window of rank 1, which grants it late.
static void access(double waited[2]) {
    MPI_Group all, other = MPI_GROUP_EMPTY;
    int peer = 1 - rank;
    MPI_Comm_group(MPI_COMM_WORLD, &all);
    if (rank < 2)
        MPI_Group_incl(all, 1, &peer, &other);
    for (int round = 0; round < ROUNDS; round++) {
        double came[4] = {0}, times[4 * RANKS];
        MPI_Barrier(MPI_COMM_WORLD);
        if (rank == 0) {
            came[0] = now();
            MPI_Win_start(other, 0, window);
            put(1);
            sleep_for(6);
            came[1] = now();
            MPI_Win_complete(window);
        } else if (rank == 1) {
            sleep_for(8);
            came[2] = now();
            MPI_Win_post(other, 0, window);
            came[3] = now();
            MPI_Win_wait(window);
        }
        exchange(came, times, 4);
        if (rank == 0)
            waited[0] += positive(times[6] - times[0]);
        if (rank == 1)
            waited[1] += positive(times[1] - times[7]);
    }
    if (rank < 2)
        MPI_Group_free(&other);
    MPI_Group_free(&all);
}

// Rank 2 has the lock of rank 0's window, rank 1 wants it, once it knows that.
static double locks(void) {
    double waited = 0;
    int has_it = 1;
    for (int round = 0; round < ROUNDS; round++) {
        double came = 0, times[RANKS];
        MPI_Barrier(MPI_COMM_WORLD);
        if (rank == 2) {
            MPI_Win_lock(MPI_LOCK_EXCLUSIVE, 0, 0, window);
            put(0);
            MPI_Win_flush(0, window);
            MPI_Send(&has_it, 1, MPI_INT, 1, 0, MPI_COMM_WORLD);
            sleep_for(10);
            came = now();
            MPI_Win_unlock(0, window);
        } else if (rank == 1) {
            MPI_Recv(&has_it, 1, MPI_INT, 2, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
            came = now();
            MPI_Win_lock(MPI_LOCK_EXCLUSIVE, 0, 0, window);
            put(0);
            MPI_Win_flush(0, window);
            MPI_Win_unlock(0, window);
        }
        exchange(&came, times, 1);
        if (rank == 1)
            waited += positive(times[2] - times[1]);
    }
    return waited;
}

// Rank 1 begins late.
static double barriers(void) {
    double waited = 0, times[RANKS];
    for (int round = 0; round < ROUNDS; round++) {
        MPI_Request request;
        MPI_Barrier(MPI_COMM_WORLD);
        if (rank == 1)
            sleep_for(8);
        double came = now();
        MPI_Ibarrier(MPI_COMM_WORLD, &request);
        sleep_for(1);
        double done = now();
        MPI_Wait(&request, MPI_STATUS_IGNORE);
        exchange(&came, times, 1);
        waited += positive(last(times) - done);
    }
    return waited;
}

// Rank 2 begins late.
static double reductions(void) {
    double waited = 0, times[RANKS];
    for (int round = 0; round < ROUNDS; round++) {
        MPI_Request requests[2];
        MPI_Status statuses[2];
        int own = 1, sums[2];
        MPI_Barrier(MPI_COMM_WORLD);
        if (rank == 2)
            sleep_for(6);
        double came = now();
        MPI_Iallreduce(&own, sums, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD, requests);
        MPI_Ireduce(&own, sums + 1, 1, MPI_INT, MPI_SUM, 0, MPI_COMM_WORLD, requests + 1);
        double done = now();
        MPI_Waitall(2, requests, statuses);
        exchange(&came, times, 1);
        waited += positive(last(times) - done);
    }
    return waited;
}

int main(int argc, char **argv) {
    long *memory;
    double waited[6] = {0};
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Win_allocate(WORDS * sizeof *memory, sizeof *memory, MPI_INFO_NULL, MPI_COMM_WORLD, &memory, &window);
    waited[0] = fences();
    access(waited + 1);
    waited[3] = locks();
    waited[4] = barriers();
    waited[5] = reductions();
    for (int turn = 0; turn < RANKS; turn++) {
        MPI_Barrier(MPI_COMM_WORLD);
        if (turn == rank) {
            printf("%d", rank);
            for (int at = 0; at < 6; at++)
                printf(" %.6f", waited[at]);
            printf("\n");
            fflush(stdout);
        }
    }
    MPI_Win_free(&window);
    MPI_Finalize();
}
