/* Programs that look as if they raced, and do not. */
#define _GNU_SOURCE
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

/* Not from omp.h, which clang alone need not have. A lock takes a word. */
int omp_get_thread_num(void);
void omp_init_lock(void *);
void omp_destroy_lock(void *);
void omp_set_lock(void *);
void omp_unset_lock(void *);
void omp_set_max_active_levels(int);

enum { N = 1000 };

static int a[N], b[N];
static long sum, counted, by_thread[256];
static int own;
#pragma omp threadprivate(own)
static long lock;
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static long guarded;
static int payload, configured, is_announced, is_waiting;
static long own_sum;
static pthread_once_t once = PTHREAD_ONCE_INIT;
static pthread_cond_t announced = PTHREAD_COND_INITIALIZER;
static atomic_int ready;

static void reductions(void)
{
    long local = 0;
#pragma omp parallel for reduction(+ : local)
    for (int i = 0; i < N; i++)
        local += b[i];
    sum = local;
}

static void protected_by(void)
{
#pragma omp parallel for
    for (int i = 0; i < N; i++) {
#pragma omp atomic
        counted++;
#pragma omp critical
        sum += i;
        omp_set_lock(&lock);
        guarded += i;
        omp_unset_lock(&lock);
    }
}

static void own_memory(void)
{
#pragma omp parallel
    {
        int *buffer = malloc(64 * sizeof *buffer);
        long mine = 0;
        int number = omp_get_thread_num();
#pragma omp for schedule(dynamic, 7)
        for (int i = 0; i < N; i++) {
            for (int k = 0; k < 64; k++)
                buffer[k] = i + k;
            mine += buffer[i % 64];
            by_thread[number]++;
            own++;
        }
#pragma omp atomic
        sum += mine;
        free(buffer);
    }
}

static void recycled_memory(void)
{
#pragma omp parallel for schedule(dynamic, 1)
    for (int i = 0; i < 200; i++) {
        int *block = malloc(40);
        for (int k = 0; k < 10; k++)
            block[k] = i;
        b[i] = block[3];
        free(block);
    }
}

/* A thread's own block, used in chunks of a loop and then given back: its memory becomes another thread's
   block before the loop's accesses are compared. */
static void given_away(void)
{
#pragma omp parallel num_threads(2)
    {
        volatile char *block = malloc(4 << 20);
        int is_first = 0;
#pragma omp for schedule(dynamic, 1) nowait
        for (int i = 0; i < 8; i++) {
            block[5000] = i;
            usleep(1000);
        }
#pragma omp single nowait
        is_first = 1;
        if (is_first) {
            usleep(30000);
            volatile char *other = malloc(8 << 20);
            other[1] = 1;
            free((void *)other);
        }
        free((void *)block);
    }
}

/* A region ends while the region around it goes on: what was recycled stays another memory. */
static void nested_memory(void)
{
    omp_set_max_active_levels(2);
#pragma omp parallel num_threads(2)
    for (int round = 0; round < 100; round++) {
#pragma omp parallel num_threads(2)
        {
            volatile int *block = malloc(1000);
            for (int i = 0; i < 2000; i++)
                block[i % 10] = i;
            free((void *)block);
        }
    }
    omp_set_max_active_levels(1);
}

static int *scratch;
#pragma omp threadprivate(scratch)

/* Iterations of one thread use the same memory, which is the thread's. Runs before the program asks for a
   thread's number. */
static void scratch_memory(void)
{
#pragma omp parallel
    scratch = malloc(4 * sizeof *scratch);
#pragma omp parallel for schedule(static)
    for (int i = 0; i < N; i++) {
        scratch[i % 4] = i;
        b[i] = scratch[i % 4];
    }
#pragma omp parallel for schedule(dynamic, 4)
    for (int i = 0; i < N; i++) {
        scratch[i % 4] = i;
        b[i] = scratch[i % 4];
    }
#pragma omp parallel
    free(scratch);
}

static int flag, message;

/* A hand-over as programs made it before atomics. */
static void flags(void)
{
#pragma omp parallel sections num_threads(2)
    {
#pragma omp section
        {
            message = 7;
#pragma omp flush
            flag = 1;
#pragma omp flush
        }
#pragma omp section
        {
            while (!flag) {
#pragma omp flush
            }
#pragma omp flush
            guarded += message;
        }
    }
}

static void untied_tasks(void)
{
#pragma omp parallel
#pragma omp for
    for (int i = 0; i < 100; i++) {
#pragma omp task untied firstprivate(i)
        b[i] = 2 * i;
    }
}

/* More tasks within each other than 1024. */
static void untied_within_untied(int depth)
{
    int result = 0;
    if (depth == 0)
        return;
#pragma omp task untied shared(result)
    {
        untied_within_untied(depth - 1);
        result = depth;
    }
#pragma omp taskwait
#pragma omp atomic
    counted += result;
}

static void deep_tasks(void)
{
    long before = counted;
#pragma omp parallel
#pragma omp single
    {
        untied_within_untied(2000);
        counted -= before;
    }
}

static int fibonacci(int n)
{
    int x, y;
    if (n < 2)
        return n;
#pragma omp task shared(x)
    x = fibonacci(n - 1);
#pragma omp task shared(y)
    y = fibonacci(n - 2);
#pragma omp taskwait
    return x + y;
}

static void tasks(void)
{
    int chain = 0;
#pragma omp parallel
#pragma omp single
    {
        sum += fibonacci(10);
        for (int i = 0; i < 20; i++)
#pragma omp task depend(inout : chain) shared(chain)
            chain += i;
#pragma omp taskgroup
        {
#pragma omp task
            a[0] = 1;
        }
        a[0]++;
    }
    sum += chain;
}

static void in_order(void)
{
    int last = 0;
#pragma omp parallel for ordered schedule(dynamic, 1)
    for (int i = 0; i < 50; i++) {
        a[i] = i;
#pragma omp ordered
        last += a[i];
    }
    sum += last;
}

static void barriers(void)
{
#pragma omp parallel
    {
#pragma omp for
        for (int i = 0; i < N; i++)
            a[i] = i;
#pragma omp single
        a[5] = 7;
#pragma omp for
        for (int i = 0; i < N; i++)
            b[i] = a[N - 1 - i];
#pragma omp barrier
#pragma omp master
        b[0] = 3;
    }
}

static char text[128], line[64];
size_t half = 64;

static void copies(void)
{
#pragma omp parallel
    {
#pragma omp sections
        {
#pragma omp section
            memset(text, 'a', half);
#pragma omp section
            memset(text + half, 'b', half - 1);
        }
        char own[64];
        memcpy(own, text + 1, half);
#pragma omp for schedule(dynamic, 8)
        for (int i = 0; i < 64; i++) {
            memmove(own, own + 1, half - 1);
            memcpy(line + i, own, 1);
        }
#pragma omp critical
        strcpy(text, "a line");
    }
}

/* Tasks of one single share its variables, which it wrote before. */
static void taskloops(void)
{
#pragma omp parallel
#pragma omp single
    {
        int first = b[1], last = 0;
#pragma omp taskloop num_tasks(8) shared(first)
        for (int i = 0; i < N; i++)
            a[i] += first;
        last = a[N - 1];
#pragma omp task shared(first, last)
        b[2] = first + last;
    }
}

/* So many tasks that gcc's runtime executes them where they are created. Each has its own copy of `own`. */
static void many_tasks(void)
{
    static long many[40000];
    long own = 1;
#pragma omp parallel
#pragma omp single
#pragma omp taskloop grainsize(1) firstprivate(own)
    for (int i = 0; i < 40000; i++) {
        own += i;
        many[i] = own;
    }
    for (int i = 0; i < 40000; i++)
        if (many[i] != 1 + i)
            abort();
}

/* Whichever thread executes the single, its tasks have that thread's variable. */
static void tasks_of_a_private_variable(void)
{
#pragma omp parallel
    {
        int factor = 4;
#pragma omp single
        for (int t = 0; t < 8; t++)
#pragma omp task shared(factor) firstprivate(t)
            a[t] += factor;
        own += factor;
    }
}

/* The runtime gives the memory of one loop's tasks to those of the next. Which task is the last one,
 * the thread that creates them writes there. */
static void taskloops_of_tasks(void)
{
    int last = 0;
#pragma omp parallel
#pragma omp single
    for (int round = 0; round < 20; round++) {
#pragma omp taskloop lastprivate(last) num_tasks(16)
        for (int i = 0; i < N; i++) {
            last = i;
            a[i] += last;
        }
    }
    sum += last;
#pragma omp parallel
#pragma omp single
    for (int t = 0; t < 16; t++)
#pragma omp task firstprivate(t)
    {
#pragma omp taskloop num_tasks(6)
        for (int i = t * 60; i < t * 60 + 60; i++)
            a[i] += t;
        by_thread[t] = a[t * 60];
    }
}

/* Each thread has a copy of the sum, which its tasks share; some tasks may be one thread's, all. */
static void task_reductions(void)
{
    long all = 0, team = 0, parts[4] = {0};
#pragma omp parallel
#pragma omp single
    for (int round = 0; round < 5; round++) {
        long rounds = 0;
#pragma omp taskloop reduction(+ : rounds) num_tasks(50)
        for (int i = 0; i < N; i++)
            rounds += b[i];
#pragma omp taskgroup task_reduction(+ : all)
        for (int i = 0; i < 50; i++)
#pragma omp task in_reduction(+ : all)
            all += i;
#pragma omp taskgroup task_reduction(+ : parts)
        for (int i = 0; i < 40; i++)
#pragma omp task in_reduction(+ : parts)
            parts[i % 4] += i;
        all += rounds + parts[0];
    }
#pragma omp parallel reduction(task, + : team)
    for (int i = 0; i < 20; i++)
#pragma omp task in_reduction(+ : team)
        team += i;
    sum += all + team;
}

/* The threads wait for each other in the loop. */
static void scan(void)
{
    long before = 0;
#pragma omp parallel for reduction(inscan, + : before)
    for (int i = 0; i < N; i++) {
        before += b[i];
#pragma omp scan inclusive(before)
        a[i] = before;
    }
}

/* No other thread executes tasks outside parallel regions. */
static void alone(void)
{
    for (int i = 0; i < 4; i++)
#pragma omp task
        b[5] += i;
#pragma omp taskloop nogroup
    for (int i = 0; i < 4; i++)
        b[5] += i;
}

#if __clang_major__ > 15 || __GNUC__ > 12
static void all_memory(void)
{
#pragma omp parallel
#pragma omp single
    {
#pragma omp task depend(out : a)
        a[3]++;
#pragma omp task depend(out : b)
        b[3]++;
#pragma omp task depend(inout : omp_all_memory)
        a[3] += b[3];
#pragma omp task depend(in : a)
        b[4] = a[3];
    }
}
#endif

static void *producer(void *argument)
{
    payload = 42;
    atomic_store_explicit(&ready, 1, memory_order_release);
    pthread_mutex_lock(&mutex);
    guarded += 1;
    pthread_mutex_unlock(&mutex);
    return argument;
}

static void configure(void)
{
    configured = 7;
}

/* Whoever comes first configures; the others come after that. */
static void *configures(void *argument)
{
    pthread_once(&once, configure);
    pthread_mutex_lock(&mutex);
    guarded += configured;
    pthread_mutex_unlock(&mutex);
    return argument;
}

static void called_once(void)
{
    pthread_t all[4];
    for (int i = 0; i < 4; i++)
        pthread_create(&all[i], NULL, configures, NULL);
    for (int i = 0; i < 4; i++)
        pthread_join(all[i], NULL);
    configured = 0;
}

/* The mutex is free while a thread waits. */
static void *waits(void *argument)
{
    struct timespec until = {.tv_sec = 1L << 40};
    pthread_mutex_lock(&mutex);
    is_waiting = 1;
    while (!is_announced)
        pthread_cond_clockwait(&announced, &mutex, CLOCK_MONOTONIC, &until);
    pthread_mutex_unlock(&mutex);
    own_sum += payload;
    return argument;
}

static void announce(void)
{
    pthread_t thread;
    pthread_create(&thread, NULL, waits, NULL);
    payload = 42;
    while (!is_announced) {
        pthread_mutex_lock(&mutex);
        if (is_waiting) {
            is_announced = 1;
            pthread_cond_signal(&announced);
        }
        pthread_mutex_unlock(&mutex);
    }
    pthread_join(thread, NULL);
    own_sum++;
}

/* What follows in a frame of the same place is another variable: a chunk's or a section's ends with it. */
static __attribute__((noinline)) long waits_for_its_task(long n)
{
    long local = 0;
#pragma omp task shared(local) firstprivate(n)
    local = n;
#pragma omp taskwait
    return local;
}

static __attribute__((noinline)) long groups_its_tasks(long n)
{
    long local[2] = {0};
#pragma omp taskgroup
    {
#pragma omp task shared(local) firstprivate(n)
        local[0] = n;
#pragma omp task shared(local) firstprivate(n)
        local[1] = n + 1;
    }
    return local[0] + local[1];
}

static __attribute__((noinline)) long orders_its_tasks(long n)
{
    long local = 0;
#pragma omp task shared(local) firstprivate(n) depend(out : local)
    local = n;
#pragma omp task shared(local) depend(inout : local)
    local++;
#pragma omp taskwait
    return local;
}

static __attribute__((noinline)) long forks(long n)
{
    long local[2] = {n, n};
#pragma omp parallel for num_threads(2) schedule(static, 1)
    for (int i = 0; i < 2; i++)
        local[i]++;
    return local[0] + local[1];
}

static long called(long n)
{
    return waits_for_its_task(n) + groups_its_tasks(n) + orders_its_tasks(n) + forks(n) + fibonacci(n % 6);
}

static void frames_of_chunks(void)
{
    long all = 0;
#pragma omp parallel for reduction(+ : all) num_threads(3) schedule(dynamic)
    for (long k = 1; k < 30; k++)
        all += called(k);
#pragma omp parallel for reduction(+ : all) num_threads(3) schedule(guided, 2)
    for (long k = 1; k < 30; k++)
        all += called(k);
#pragma omp parallel num_threads(3) reduction(+ : all)
    {
        for (long k = 0; k < 10; k++) {
#pragma omp single nowait
            all += called(k);
        }
#pragma omp sections
        {
#pragma omp section
            all += called(1);
#pragma omp section
            all += called(2);
#pragma omp section
            all += called(3);
#pragma omp section
            all += called(4);
        }
    }
    counted += all;
}

/* Variables of the body of a loop, of the region around it, and blocks of the heap that a thread has for itself. */
static void memory_of_chunks(void)
{
    long all = 0;
#pragma omp parallel num_threads(3) reduction(+ : all)
    {
        long before = 0, each = 0, *block = calloc(2, sizeof *block);
#pragma omp task shared(before)
        before = 1;
#pragma omp taskwait
#pragma omp for schedule(dynamic) nowait
        for (long k = 0; k < 40; k++) {
            long local = before;
#pragma omp task shared(local, each) firstprivate(k, block)
            {
                local += k;
                each += k;
                block[0] = k;
            }
#pragma omp taskwait
            all += local + block[0];
            block[1] = local;
        }
#pragma omp task shared(before, each)
        before += each;
#pragma omp taskwait
        all += before + block[1];
        free(block);
    }
    counted += all;
}

/* The C library has two of each, of which only the newer ones can be called so. */
static void newer_versions(void)
{
    cpu_set_t all;
    char *path = realpath("/", NULL);
    if (sched_getaffinity(0, sizeof all, &all) != 0 || !path)
        exit(1);
    free(path);
}

static void threads(void)
{
    pthread_t thread;
    a[1] = 5;
    pthread_create(&thread, NULL, producer, NULL);
    pthread_mutex_lock(&mutex);
    guarded += 1;
    pthread_mutex_unlock(&mutex);
    while (!atomic_load_explicit(&ready, memory_order_acquire))
        ;
    sum += payload;
    pthread_join(thread, NULL);
    payload = 0;
}

/* The others copy what the thread of the single had before it, too. */
static void handed_out(void)
{
    long s = 0;
#pragma omp parallel reduction(+ : s)
    {
        int x[10];
        for (int i = 0; i < 10; i++)
            x[i] = i;
#pragma omp single copyprivate(x)
        x[3] = 5;
        for (int i = 0; i < 10; i++)
            s += x[i];
    }
    sum += s > 0;
}

int main(void)
{
    omp_init_lock(&lock);
    scratch_memory();
    reductions();
    protected_by();
    own_memory();
    recycled_memory();
    given_away();
    nested_memory();
    tasks();
    in_order();
    barriers();
    flags();
    untied_tasks();
    deep_tasks();
    copies();
    taskloops();
    many_tasks();
    taskloops_of_tasks();
    tasks_of_a_private_variable();
    task_reductions();
    scan();
    alone();
#if __clang_major__ > 15 || __GNUC__ > 12
    all_memory();
#endif
    threads();
    called_once();
    announce();
    frames_of_chunks();
    memory_of_chunks();
    handed_out();
    newer_versions();
    omp_destroy_lock(&lock);
    printf("%ld %ld %ld %d\n", sum, counted, guarded, own + b[3]);
    return 0;
}
