/* Memory of each thread's own, found in many ways: by a ticket in thread-local memory, by a threadprivate number
   or pointer, from an earlier region or from before it; by the thread's number, asked for beside a static loop. No
   task has a scheduling point while it uses such memory. */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
int omp_get_thread_num(void);
enum { N = 60, K = 16 };
static double arena[64][K], all[64 * 8];
static _Thread_local int slot = -1;
static int tickets;
static double *kept, *grown;
static int me, used, room;
#pragma omp threadprivate(kept, grown, me, used, room)
static pthread_key_t key;
static double *by_ticket(void) { if (slot < 0) slot = __atomic_fetch_add(&tickets, 1, __ATOMIC_RELAXED); return arena[slot]; }
static double *by_key(void)
{
    double *own = pthread_getspecific(key);
    if (!own)
        pthread_setspecific(key, own = arena[32 + __atomic_fetch_add(&tickets, 1, __ATOMIC_RELAXED) % 32]);
    return own;
}
static __attribute__((noinline)) void fill(double *it, int i) { for (int k = 0; k < K; k++) it[k] += i + k; }
static __attribute__((noinline)) void keep(double x)
{
    if (!kept)
        kept = calloc(8, sizeof *kept);
    kept[used++ % 8] += x;
}
static __attribute__((noinline)) void grow(double x)
{
    if (used == room) {
        double *fresh = malloc((room = room ? 2 * room : 4) * sizeof *fresh);
        for (int i = 0; i < used; i++)
            fresh[i] = grown[i];
        free(grown);
        grown = fresh;
    }
    grown[used++] = x;
}
int main(void)
{
    pthread_key_create(&key, NULL);
    keep(1);
#pragma omp parallel for schedule(dynamic)
    for (int i = 0; i < N; i++)
        keep(i);
#pragma omp parallel num_threads(4)
#pragma omp single
    for (int i = 0; i < N; i++) {
#pragma omp task
        fill(by_ticket(), i);
    }
#pragma omp parallel for schedule(dynamic, 2)
    for (int i = 0; i < N; i++)
        fill(by_ticket(), i);
#pragma omp parallel for schedule(dynamic, 2)
    for (int i = 0; i < N; i++)
        fill(by_key(), i);
#pragma omp parallel
    me = omp_get_thread_num(), used = 0;
#pragma omp parallel for schedule(dynamic)
    for (int i = 0; i < N; i++)
        fill(arena[48 + me % 15], i);
#pragma omp parallel
#pragma omp single
    for (int i = 0; i < N; i++) {
#pragma omp task
        grow(i);
    }
#pragma omp parallel
    {
#pragma omp for schedule(static)
        for (int i = 0; i < K; i++)
            arena[63][i] = i;
        double *own = all + 8 * omp_get_thread_num();
#pragma omp for schedule(dynamic, 2)
        for (int i = 0; i < N; i++)
            own[i % 8] += arena[63][i % K];
        free(grown);
        free(kept);
    }
    printf("%d\n", tickets > 0);
    return 0;
}
