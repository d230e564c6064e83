// Calls functions of OpenSHMEM of every class and with arguments of every kind. Each rank checks what it gets, and writes
// what it knows of its own calls into `calls.RANK`: function, calls, bytes sent and received; and into `pairs.RANK`: a
// rank whose memory it accessed, the bytes sent there and received from there.
#include <math.h>
#include <shmem.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MOST = 128, N = 16 };

static struct {
    const char *name;
    long calls, sent, received;
} known[MOST];
static long pairs[64][2];
static int me, ranks, next;

static void add(const char *name, long sent, long received, int peer) {
    int at = 0;
    while (known[at].name && strcmp(known[at].name, name))
        at++;
    known[at].name = name;
    known[at].calls++;
    known[at].sent += sent;
    known[at].received += received;
    if (peer >= 0) {
        pairs[peer][0] += sent;
        pairs[peer][1] += received;
    }
}

#define CALL(function, sent, received, peer, ...) (add(#function, sent, received, peer), function(__VA_ARGS__))
#define EXPECT(what)                                                      \
    do {                                                                  \
        if (!(what)) {                                                    \
            fprintf(stderr, "%d: line %d: %s\n", me, __LINE__, #what);    \
            shmem_global_exit(1);                                         \
        }                                                                 \
    } while (0)

static long table[N], lock, flag, sync_words[SHMEM_REDUCE_SYNC_SIZE];
static float few_floats[N];
static double doubles[N];
static long double long_doubles[N];
static long work[SHMEM_REDUCE_MIN_WRKDATA_SIZE + N];
static char bytes[N];

static void values(void) {
    CALL(shmem_float_p, 4, 0, next, &few_floats[0], 1.5f + me, next);
    CALL(shmem_double_p, 8, 0, next, &doubles[0], 2.5 + me, next);
    CALL(shmem_longdouble_p, 16, 0, next, &long_doubles[0], 3.5L + me, next);
    CALL(shmem_ctx_longdouble_p, 16, 0, next, SHMEM_CTX_DEFAULT, &long_doubles[1], 4.5L + me, next);
    CALL(shmem_char_p, 1, 0, next, &bytes[0], (char)('a' + me), next);
    CALL(shmem_barrier_all, 0, 0, -1);
    int before = (me + ranks - 1) % ranks;
    EXPECT(few_floats[0] == 1.5f + before && doubles[0] == 2.5 + before);
    EXPECT(long_doubles[0] == 3.5L + before && long_doubles[1] == 4.5L + before);
    EXPECT(bytes[0] == 'a' + before);
    // Results in registers of every kind.
    float f = CALL(shmem_float_g, 0, 4, next, &few_floats[0], next);
    double d = CALL(shmem_double_g, 0, 8, next, &doubles[0], next);
    long double l = CALL(shmem_longdouble_g, 0, 16, next, &long_doubles[0], next);
    EXPECT(f == 1.5f + me && d == 2.5 + me && l == 3.5L + me);
    double swapped = CALL(shmem_double_atomic_swap, 8, 8, next, &doubles[0], 9.0, next);
    EXPECT(swapped == 2.5 + me);
    CALL(shmem_double_atomic_set, 8, 0, next, &doubles[0], 7.25, next);
    EXPECT(CALL(shmem_double_atomic_fetch, 0, 8, next, &doubles[0], next) == 7.25);
    CALL(shmem_barrier_all, 0, 0, -1);
}

static void arrays(void) {
    long from[N], to[N];
    for (int i = 0; i < N; i++)
        from[i] = 100 * me + i;
    CALL(shmem_long_put, 64, 0, next, &table[2], from, 8, next);
    CALL(shmem_long_iput, 24, 0, next, &table[10], from, 2, 1, 3, next);
    CALL(shmem_putmem, 5, 0, next, &bytes[1], "seven", 5, next);
    CALL(shmem_put64_nbi, 16, 0, next, &table[0], from, 2, next);
    CALL(shmem_quiet, 0, 0, -1);
    CALL(shmem_barrier_all, 0, 0, -1);
    CALL(shmem_long_get, 0, 64, next, to, &table[2], 8, next);
    EXPECT(to[7] == 100 * me + 7);
    CALL(shmem_ctx_long_iget, 0, 24, next, SHMEM_CTX_DEFAULT, to, &table[10], 1, 2, 3, next);
    EXPECT(to[2] == 100 * me + 2);
    CALL(shmem_getmem_nbi, 0, 3, next, to, &bytes[1], 3, next);
    CALL(shmem_fence, 0, 0, -1);
    CALL(shmem_quiet, 0, 0, -1);
    // The own memory, through the library.
    for (int i = 0; i < 5; i++)
        CALL(shmem_long_get, 0, 8, me, to, &table[0], 1, me);
    CALL(shmem_barrier_all, 0, 0, -1);
}

static void atomics(void) {
    CALL(shmem_long_atomic_add, 8, 0, 0, &flag, 1, 0);
    CALL(shmem_int_atomic_fetch_add, 4, 4, 0, (int *)&table[N - 1], 1, 0);
    CALL(shmem_long_atomic_compare_swap, 8, 8, next, &table[N - 2], 1, 2, next);
    CALL(shmem_long_atomic_inc, 8, 0, 0, &flag, 0);
    if (me == 0) {
        CALL(shmem_long_wait_until, 0, 0, -1, &flag, SHMEM_CMP_EQ, 2L * ranks);
        EXPECT(CALL(shmem_long_test, 0, 0, -1, &flag, SHMEM_CMP_EQ, 2L * ranks));
    }
    CALL(shmem_set_lock, 0, 0, -1, &lock);
    CALL(shmem_clear_lock, 0, 0, -1, &lock);
    CALL(shmem_barrier_all, 0, 0, -1);
}

static void collectives(void) {
    for (int i = 0; i < SHMEM_REDUCE_SYNC_SIZE; i++)
        sync_words[i] = SHMEM_SYNC_VALUE;
    CALL(shmem_barrier_all, 0, 0, -1);
    static long in[N], out[N * 8];
    long moved = 8 * 4;
    CALL(shmem_long_sum_to_all, moved, moved, -1, out, in, 4, 0, 0, ranks, work, sync_words);
    CALL(shmem_sync_all, 0, 0, -1);
    CALL(shmem_broadcast64, me == 1 ? moved : 0, me == 1 ? 0 : moved, -1, out, in, 4, 1, 0, 0, ranks, sync_words);
    CALL(shmem_sync_all, 0, 0, -1);
    CALL(shmem_fcollect64, moved, moved * ranks, -1, out, in, 4, 0, 0, ranks, sync_words);
    CALL(shmem_sync_all, 0, 0, -1);
    CALL(shmem_alltoall32, 16 * ranks, 16 * ranks, -1, out, in, 4, 0, 0, ranks, sync_words);
    CALL(shmem_sync_all, 0, 0, -1);
    CALL(shmem_collect32, 4 * (me + 1), 0, -1, out, in, me + 1, 0, 0, ranks, sync_words);
    CALL(shmem_barrier, 0, 0, -1, 0, 0, ranks, sync_words);
}

static void allocations(void) {
    long *heap = CALL(shmem_malloc, 0, 0, -1, 1000 * sizeof *heap);
    long *more = CALL(shmem_calloc, 0, 0, -1, 10, 8);
    for (int i = 0; i < 3; i++)
        CALL(shmem_long_put, 80, 0, next, &heap[500], table, 10, next);
    CALL(shmem_long_p, 8, 0, next, &more[9], 1L, next);
    CALL(shmem_barrier_all, 0, 0, -1);
    CALL(shmem_free, 0, 0, -1, more);
    CALL(shmem_free, 0, 0, -1, heap);
}

int main(void) {
    CALL(shmem_init, 0, 0, -1);
    me = CALL(shmem_my_pe, 0, 0, -1);
    ranks = CALL(shmem_n_pes, 0, 0, -1);
    next = (me + 1) % ranks;
    values();
    arrays();
    atomics();
    collectives();
    allocations();
    add("shmem_finalize", 0, 0, -1);
    char path[32];
    snprintf(path, sizeof path, "calls.%d", me);
    FILE *file = fopen(path, "w");
    for (int i = 0; known[i].name; i++)
        fprintf(file, "%s %ld %ld %ld\n", known[i].name, known[i].calls, known[i].sent, known[i].received);
    fclose(file);
    snprintf(path, sizeof path, "pairs.%d", me);
    file = fopen(path, "w");
    for (int i = 0; i < ranks; i++)
        fprintf(file, "%d %ld %ld\n", i, pairs[i][0], pairs[i][1]);
    fclose(file);
    shmem_finalize();
    return 0;
}
