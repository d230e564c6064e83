/* Locks and hand-overs that the program has made itself: no tool sees them unless they are declared.
   DECLARE: they are. The argument names the case. */
#include <stdio.h>
#include <string.h>
#ifdef DECLARE
#include "tha_interface.h"
#else
#define tha_notify_acquire_lock(id)
#define tha_notify_lock_acquired(id)
#define tha_notify_acquire_readlock(id)
#define tha_notify_readlock_acquired(id)
#define tha_notify_acquire_writelock(id)
#define tha_notify_writelock_acquired(id)
#define tha_notify_release_lock(id)
#define tha_notify_lock_released(id)
#define tha_notify_sync_post_begin(id)
#define tha_notify_sync_post_end(id)
#define tha_notify_sync_wait_begin(id)
#define tha_notify_sync_wait_end(id)
#endif

int omp_get_thread_num(void);
int usleep(unsigned);

/* Machine code of the program's own: it is not instrumented. */
static int exchange(int *word, int value)
{
    __asm__ volatile("xchg %0, %1" : "+r"(value), "+m"(*word) : : "memory");
    return value;
}

static int load(const int *word)
{
    int value;
    __asm__ volatile("mov %1, %0" : "=r"(value) : "m"(*word) : "memory");
    return value;
}

static void add(int *word, int value)
{
    __asm__ volatile("lock add %1, %0" : "+m"(*word) : "r"(value) : "memory");
}

static int a, b, gate, flag, table;
static long sum, message, entries[4];

static void lock(int *word)
{
    tha_notify_acquire_lock(word);
    while (exchange(word, 1))
        usleep(1);
    tha_notify_lock_acquired(word); /* taken */
}

static void unlock(int *word)
{
    tha_notify_release_lock(word);
    exchange(word, 0);
}

/* Tells of the release in both ways. */
static void leave(int *word)
{
    tha_notify_release_lock(word);
    exchange(word, 0);
    tha_notify_lock_released(word);
}

/* Tells of it afterwards. */
static void let_go(int *word)
{
    exchange(word, 0);
    tha_notify_lock_released(word);
}

static void spin(void)
{
#pragma omp parallel num_threads(4)
    for (int i = 0; i < 30; i++) {
        lock(&gate);
        sum++; /* spin */
        if (i % 3 == 0)
            unlock(&gate);
        else if (i % 3 == 1)
            leave(&gate);
        else
            let_go(&gate);
    }
}

static void handed(void)
{
#pragma omp parallel num_threads(2)
    {
        if (omp_get_thread_num() == 0) {
            message = 42; /* handed */
            tha_notify_sync_post_begin(&flag);
            exchange(&flag, 1);
            tha_notify_sync_post_end(&flag);
        } else {
            tha_notify_sync_wait_begin(&flag);
            while (!load(&flag))
                usleep(1);
            tha_notify_sync_wait_end(&flag);
            message++; /* handed */
        }
    }
}

/* A word counts readers; a writer adds many. */
static void readers(void)
{
    enum { WRITER = 1000 };
#pragma omp parallel num_threads(4)
    for (int i = 0; i < 20; i++) {
        if (omp_get_thread_num() == 0) {
            tha_notify_acquire_writelock(&table);
            lock(&gate);
            while (load(&table) != 0)
                usleep(1);
            add(&table, WRITER);
            unlock(&gate);
            tha_notify_writelock_acquired(&table);
            entries[i % 4] = i; /* readers */
            tha_notify_release_lock(&table);
            add(&table, -WRITER);
        } else {
            tha_notify_acquire_readlock(&table);
            for (;;) {
                lock(&gate);
                if (load(&table) < WRITER)
                    break;
                unlock(&gate);
                usleep(1);
            }
            add(&table, 1);
            unlock(&gate);
            tha_notify_readlock_acquired(&table);
            if (entries[i % 4] < 0) /* readers */
                printf("never\n");
            tha_notify_release_lock(&table);
            add(&table, -1);
        }
    }
}

static void both(int *one, int *other)
{
    lock(one);
    lock(other);
    add(&flag, 1);
    unlock(other);
    unlock(one);
}

static void order(void)
{
#pragma omp parallel num_threads(2)
    if (omp_get_thread_num() == 0) {
        both(&a, &b);
        exchange(&gate, 1);
    } else {
        while (!load(&gate))
            usleep(1);
        both(&b, &a);
    }
}

static void hang(void)
{
#pragma omp parallel num_threads(2)
    {
        int me = omp_get_thread_num();
        lock(me ? &b : &a);
        add(&flag, 1);
        while (load(&flag) < 2)
            usleep(1);
        lock(me ? &a : &b);
    }
}

static void other_releases(void)
{
#pragma omp parallel num_threads(2)
    {
        if (omp_get_thread_num() == 0)
            lock(&a);
#pragma omp barrier
        if (omp_get_thread_num() == 1)
            unlock(&a);
    }
}

int main(int argc, char **argv)
{
    const char *name = argc > 1 ? argv[1] : "";
    if (strcmp(name, "spin") == 0)
        spin();
    if (strcmp(name, "handed") == 0)
        handed();
    if (strcmp(name, "readers") == 0)
        readers();
    if (strcmp(name, "order") == 0)
        order();
    if (strcmp(name, "hang") == 0)
        hang();
    if (strcmp(name, "other-releases") == 0)
        other_releases();
    printf("%ld %ld\n", sum, message);
    return 0;
}
