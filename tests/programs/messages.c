// Calls functions of MPI of every kind, in pairs of ranks and in all of them. Each rank writes what it knows of its own
// calls into `calls.RANK`: function, calls, nanoseconds, bytes sent, bytes received.
#include <mpi.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { MOST = 64, N = 100, BYTES = N * sizeof(int) };

static struct {
    const char *name;
    long calls, sent, received;
    int64_t time;
} known[MOST];

static int64_t now(void) {
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC_RAW, &time);
    return time.tv_sec * INT64_C(1000000000) + time.tv_nsec;
}

static void add(const char *name, int64_t time, long sent, long received) {
    int at = 0;
    while (known[at].name && strcmp(known[at].name, name))
        at++;
    known[at].name = name;
    known[at].calls++;
    known[at].time += time;
    known[at].sent += sent;
    known[at].received += received;
}

#define CALL(function, sent, received, ...)                                                        \
    do {                                                                                           \
        int64_t begin = now();                                                                     \
        function(__VA_ARGS__);                                                                     \
        add(#function, now() - begin, sent, received);                                             \
    } while (0)

static volatile double sink;

static void work(int microseconds) {
    int64_t end = now() + microseconds * INT64_C(1000);
    while (now() < end)
        sink += 1;
}

int main(int argc, char **argv) {
    int rank, size, out[N] = {0}, in[4][N], flag, index, count, indices[4];
    CALL(MPI_Init, 0, 0, &argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    int left = (rank + size - 1) % size, right = (rank + 1) % size, is_even = rank % 2 == 0;
    int other = is_even ? rank + 1 : rank - 1;
    MPI_Comm all, half;
    CALL(MPI_Comm_dup, 0, 0, MPI_COMM_WORLD, &all);
    // The ranks of the halves are not those of all.
    CALL(MPI_Comm_split, 0, 0, MPI_COMM_WORLD, is_even, -rank, &half);
    int half_rank, half_size;
    MPI_Comm_rank(half, &half_rank);
    MPI_Comm_size(half, &half_size);
    MPI_Request requests[4];
    MPI_Status status, statuses[4];
    void *buffer = malloc(1 << 20);
    MPI_Buffer_attach(buffer, 1 << 20);

    for (int round = 0; round < 20; round++) {
        work(500 * (1 + rank));
        int tag = round % 3;
        // Pairs: each mode of sending.
        if (is_even) {
            CALL(MPI_Send, BYTES, 0, out, N, MPI_INT, other, tag, all);
            CALL(MPI_Ssend, 4, 0, out, 1, MPI_INT, other, tag, all);
            CALL(MPI_Bsend, 8, 0, out, 1, MPI_DOUBLE, other, 7, MPI_COMM_WORLD);
            CALL(MPI_Recv, 0, 0, in[0], 0, MPI_INT, other, 9, all, MPI_STATUS_IGNORE);
            CALL(MPI_Rsend, 4, 0, out, 1, MPI_INT, other, 8, all);
        } else {
            // Fewer elements come than there is room for.
            CALL(MPI_Recv, 0, BYTES, in[0], 2 * N, MPI_INT, MPI_ANY_SOURCE, tag, all, &status);
            CALL(MPI_Probe, 0, 0, MPI_ANY_SOURCE, MPI_ANY_TAG, all, MPI_STATUS_IGNORE);
            CALL(MPI_Recv, 0, 4, in[0], N, MPI_INT, other, MPI_ANY_TAG, all, MPI_STATUS_IGNORE);
            MPI_Message message;
            CALL(MPI_Mprobe, 0, 0, other, 7, MPI_COMM_WORLD, &message, &status);
            CALL(MPI_Mrecv, 0, 8, in[0], 1, MPI_DOUBLE, &message, MPI_STATUS_IGNORE);
            CALL(MPI_Irecv, 0, 0, in[0], 1, MPI_INT, other, 8, all, &requests[0]);
            CALL(MPI_Send, 0, 0, out, 0, MPI_INT, other, 9, all);
            CALL(MPI_Wait, 0, 4, &requests[0], MPI_STATUS_IGNORE);
        }
        // A ring, in half of the ranks and in all.
        CALL(MPI_Sendrecv, 16, 16, out, 4, MPI_INT, right, 1, in[0], N, MPI_INT, left, 1, all, MPI_STATUS_IGNORE);
        CALL(MPI_Sendrecv_replace, 8, 8, in[0], 2, MPI_INT, (half_rank + 1) % half_size, 1,
             (half_rank + half_size - 1) % half_size, 1, half, &status);
        CALL(MPI_Irecv, 0, 0, in[0], N, MPI_INT, left, 2, all, &requests[0]);
        CALL(MPI_Irecv, 0, 0, in[1], N, MPI_INT, MPI_ANY_SOURCE, 3, all, &requests[1]);
        CALL(MPI_Isend, 40, 0, out, 10, MPI_INT, right, 2, all, &requests[2]);
        CALL(MPI_Isend, 80, 0, out, 20, MPI_INT, right, 3, all, &requests[3]);
        if (round % 2) {
            CALL(MPI_Waitall, 0, 120, 4, requests, MPI_STATUSES_IGNORE);
        } else {
            int done = 0;
            while (done < 4) {
                int64_t begin = now();
                MPI_Waitsome(4, requests, &count, indices, statuses);
                int64_t time = now() - begin;
                long received = 0;
                for (int at = 0; at < count; at++)
                    received += indices[at] == 0 ? 40 : indices[at] == 1 ? 80 : 0;
                add("MPI_Waitsome", time, 0, received);
                done += count;
            }
        }
        // Any of two, then tests until the other one is there.
        CALL(MPI_Irecv, 0, 0, in[0], N, MPI_INT, left, 4, all, &requests[0]);
        CALL(MPI_Irecv, 0, 0, in[1], N, MPI_INT, left, 5, all, &requests[1]);
        CALL(MPI_Issend, 4, 0, out, 1, MPI_INT, right, 4, all, &requests[2]);
        work(100);
        CALL(MPI_Send, 12, 0, out, 3, MPI_INT, right, 5, all);
        int64_t begin = now();
        MPI_Waitany(2, requests, &index, MPI_STATUS_IGNORE);
        add("MPI_Waitany", now() - begin, 0, index == 0 ? 4 : 12);
        do {
            begin = now();
            MPI_Test(&requests[1 - index], &flag, MPI_STATUS_IGNORE);
            add("MPI_Test", now() - begin, 0, !flag ? 0 : index == 0 ? 12 : 4);
        } while (!flag);
        CALL(MPI_Wait, 0, 0, &requests[2], &status);
        // Nobody.
        CALL(MPI_Send, 0, 0, out, N, MPI_INT, MPI_PROC_NULL, 1, all);
        CALL(MPI_Recv, 0, 0, out, N, MPI_INT, MPI_PROC_NULL, 1, all, MPI_STATUS_IGNORE);
    }

    // Requests that are started again.
    CALL(MPI_Recv_init, 0, 0, in[0], N, MPI_INT, left, 6, MPI_COMM_WORLD, &requests[0]);
    CALL(MPI_Send_init, 0, 0, out, 5, MPI_INT, right, 6, MPI_COMM_WORLD, &requests[1]);
    for (int round = 0; round < 10; round++) {
        if (round % 2) {
            CALL(MPI_Startall, 20, 0, 2, requests);
        } else {
            CALL(MPI_Start, 0, 0, &requests[0]);
            CALL(MPI_Start, 20, 0, &requests[1]);
        }
        CALL(MPI_Waitall, 0, 20, 2, requests, statuses);
    }
    CALL(MPI_Request_free, 0, 0, &requests[0]);
    CALL(MPI_Request_free, 0, 0, &requests[1]);

    // Collective operations: what a rank gives is sent, what it gets is received.
    int counts[MOST], places[MOST], sum = 0;
    for (int at = 0; at < size; at++) {
        counts[at] = at + 1;
        places[at] = sum;
        sum += at + 1;
    }
    int *large = calloc(N * size, sizeof(int)), *other_large = calloc(N * size, sizeof(int));
    for (int round = 0; round < 10; round++) {
        int root = round % size, is_root = rank == root;
        work(300 * rank);
        CALL(MPI_Barrier, 0, 0, all);
        CALL(MPI_Bcast, is_root ? BYTES : 0, is_root ? 0 : BYTES, out, N, MPI_INT, root, all);
        CALL(MPI_Reduce, BYTES, is_root ? BYTES : 0, out, in[0], N, MPI_INT, MPI_SUM, root, all);
        CALL(MPI_Allreduce, 8, 8, MPI_IN_PLACE, in[0], 2, MPI_INT, MPI_SUM, half);
        CALL(MPI_Scan, 4, 4, out, in[0], 1, MPI_INT, MPI_SUM, all);
        CALL(MPI_Gather, 12, is_root ? 12 * size : 0, out, 3, MPI_INT, large, 3, is_root ? MPI_INT : MPI_DATATYPE_NULL, root, all);
        CALL(MPI_Gatherv, 4 * (rank + 1), is_root ? 4 * sum : 0, out, rank + 1, MPI_INT, large, is_root ? counts : NULL,
             is_root ? places : NULL, MPI_INT, root, all);
        CALL(MPI_Scatter, is_root ? 8 * size : 0, 8, large, 2, is_root ? MPI_INT : MPI_DATATYPE_NULL,
             in[0], 2, MPI_INT, root, all);
        CALL(MPI_Scatterv, is_root ? 4 * sum : 0, 4 * (rank + 1), large, counts, places, MPI_INT, in[0], rank + 1, MPI_INT, root, all);
        CALL(MPI_Allgather, 20, 20 * size, out, 5, MPI_INT, large, 5, MPI_INT, all);
        CALL(MPI_Allgatherv, 4 * (rank + 1), 4 * sum, out, rank + 1, MPI_INT, large, counts, places, MPI_INT, all);
        CALL(MPI_Alltoall, 8 * size, 8 * size, other_large, 2, MPI_INT, large, 2, MPI_INT, all);
        CALL(MPI_Reduce_scatter, 4 * sum, 4 * (rank + 1), other_large, large, counts, MPI_INT, MPI_SUM, all);
        CALL(MPI_Reduce_scatter_block, 8 * size, 8, other_large, large, 2, MPI_INT, MPI_SUM, all);
        CALL(MPI_Iallreduce, 16, 16, out, in[0], 4, MPI_INT, MPI_MAX, all, &requests[0]);
        CALL(MPI_Ibarrier, 0, 0, half, &requests[1]);
        CALL(MPI_Waitall, 0, 0, 2, requests, MPI_STATUSES_IGNORE);
    }

    // One-sided operations.
    MPI_Win window;
    CALL(MPI_Win_create, 0, 0, large, N * size * sizeof(int), sizeof(int), MPI_INFO_NULL, MPI_COMM_WORLD, &window);
    CALL(MPI_Win_fence, 0, 0, 0, window);
    CALL(MPI_Put, 8, 0, out, 2, MPI_INT, right, 0, 2, MPI_INT, window);
    CALL(MPI_Get, 0, 12, in[0], 3, MPI_INT, left, 4, 3, MPI_INT, window);
    CALL(MPI_Accumulate, 4, 0, out, 1, MPI_INT, right, 8, 1, MPI_INT, MPI_SUM, window);
    CALL(MPI_Win_fence, 0, 0, 0, window);
    CALL(MPI_Win_lock, 0, 0, MPI_LOCK_SHARED, right, 0, window);
    CALL(MPI_Put, 4, 0, out, 1, MPI_INT, right, 12, 1, MPI_INT, window);
    CALL(MPI_Win_unlock, 0, 0, right, window);
    CALL(MPI_Win_free, 0, 0, &window);

    CALL(MPI_Comm_free, 0, 0, &half);
    CALL(MPI_Comm_free, 0, 0, &all);
    char name[32];
    sprintf(name, "calls.%d", rank);
    FILE *file = fopen(name, "w");
    for (int at = 0; at < MOST && known[at].name; at++)
        fprintf(file, "%s %ld %ld %ld %ld\n", known[at].name, known[at].calls, (long)known[at].time, known[at].sent,
                known[at].received);
    fclose(file);
    MPI_Finalize();
    return 0;
}
