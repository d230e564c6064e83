/* Races of the kinds that are made most. Lines of one race have its name in a comment. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Not from omp.h, which clang alone need not have. A lock takes a word, or two if it nests. */
void omp_init_lock(void *);
void omp_destroy_lock(void *);
void omp_set_lock(void *);
void omp_unset_lock(void *);

enum { N = 1000 };

static int a[N + 1], b[N];
static long sum, hits, total;
static int tmp, j, shared_by_tasks, produced, consumed;
static long one, other, crowd;

static void missing_reduction(void)
{
#pragma omp parallel for
    for (int i = 0; i < N; i++) /* reduction */
        sum += b[i];            /* reduction */
}

static void missing_private(void)
{
#pragma omp parallel for
    for (int i = 0; i < N; i++) {
        tmp = 3 * b[i] + i; /* private */
        b[i] = tmp / 2;     /* private */
    }
}

static void shared_index(void)
{
#pragma omp parallel for
    for (int i = 0; i < 100; i++)    /* index */
        for (j = 0; j < 10; j++) /* index */
            b[10 * i + j]++;     /* index */
}

static void missing_for(void)
{
#pragma omp parallel
    for (int i = 0; i < N; i++) /* for */
        hits += b[i];           /* for */
}

static void neighbours(void)
{
#pragma omp parallel for
    for (int i = 0; i < N; i++) /* neighbours */
        a[i] = a[i + 1] + 1;    /* neighbours */
}

/* Both iterations are of one thread's part. */
static void one_thread(void)
{
#pragma omp parallel for schedule(static)
    for (int i = 0; i < 64; i++)
        b[i / 16 * 16 + i % 8] = i; /* one thread */
}

static void nowait(void)
{
#pragma omp parallel
    {
#pragma omp for nowait
        for (int i = 0; i < N; i++)
            a[i] = 2 * i; /* nowait */
#pragma omp single
        printf("%d\n", a[9]); /* nowait */
    }
}

static void two_tasks(void)
{
#pragma omp parallel
#pragma omp single
    {
#pragma omp task
        shared_by_tasks += 1; /* tasks */
#pragma omp task
        shared_by_tasks += 2; /* tasks */
#pragma omp taskwait
    }
}

static void missing_taskwait(void)
{
#pragma omp parallel
#pragma omp single
    {
#pragma omp task
        produced = 7;        /* taskwait */
        consumed = produced; /* taskwait */
    }
}

__attribute__((noinline)) static void add(void)
{
    total += 1; /* locks */
}

__attribute__((noinline)) static void multiply(void)
{
    total = 3 * total + consumed; /* locks */
}

static void two_locks(void)
{
#pragma omp parallel sections
    {
#pragma omp section
        {
            omp_set_lock(&one);
            add();
            omp_unset_lock(&one);
        }
#pragma omp section
        {
            omp_set_lock(&other);
            multiply();
            omp_unset_lock(&other);
        }
    }
}

static char text[64], line[64];
size_t length = 40;

static void copies(void)
{
#pragma omp parallel sections
    {
#pragma omp section
        memcpy(text, line, length); /* copies */
#pragma omp section
        memset(text + 8, 1, length); /* copies */
    }
#pragma omp parallel sections
    {
#pragma omp section
        memmove(text, text + 1, length); /* moved */
#pragma omp section
        text[12] = 1; /* moved */
    }
#pragma omp parallel sections
    {
#pragma omp section
        strcpy(text, line + 20); /* strings */
#pragma omp section
        strncpy(line, text, length); /* strings */
    }
}

/* More tasks than gcc's runtime lets wait. */
static void many_tasks(void)
{
#pragma omp parallel
#pragma omp single
#pragma omp taskloop grainsize(1) /* crowd */
    for (int i = 0; i < 4000; i++)
        crowd += i; /* crowd */
}

/* Compilers read the first neighbour before the loop, and keep each sum for the next round. */
static void recurrence(double *x)
{
#pragma omp parallel for
    for (int i = 1; i < N; i++) /* recurrence */
        x[i] += x[i - 1]; /* recurrence */
}

/* A variable of the region lives longer than the chunk, one of the chunk as long as its tasks. */
static void tasks_of_chunks(void)
{
#pragma omp parallel num_threads(2) reduction(+ : crowd)
    {
        volatile int last = 0;
#pragma omp for schedule(dynamic)
        for (int k = 0; k < 60; k++) {
            if (k % 2) {
#pragma omp task shared(last)
                last = k; /* outlives */
            } else
                crowd += last; /* outlives */
        }
#pragma omp for schedule(dynamic)
        for (int k = 0; k < 20; k++) {
            int local = 0;
#pragma omp task shared(local)
            local = k; /* siblings */
#pragma omp task shared(local)
            local = -k; /* siblings */
#pragma omp taskwait
            crowd += local;
        }
    }
}

int main(void)
{
    omp_init_lock(&one);
    omp_init_lock(&other);
    missing_reduction();
    missing_private();
    shared_index();
    missing_for();
    neighbours();
    one_thread();
    nowait();
    two_tasks();
    missing_taskwait();
    two_locks();
    copies();
    many_tasks();
    tasks_of_chunks();
    double *x = calloc(N, sizeof *x);
    recurrence(x);
    free(x);
    omp_destroy_lock(&one);
    omp_destroy_lock(&other);
    printf("%ld %ld %ld %d %d\n", sum, hits, total, shared_by_tasks, consumed);
    printf("%d %d %s\n", tmp, j, line);
    return 0;
}
