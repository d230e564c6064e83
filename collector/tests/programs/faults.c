/* Threads, threads of threads and a child touch memory and sleep in between. Each prints its kernel
 * thread id, its minor page faults and its voluntary context switches by the kernel's account. */
#define _GNU_SOURCE
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

static void *work(void *argument)
{
    long pages = (long)argument;
    pthread_t inner;
    if (pages > 2000)
        pthread_create(&inner, NULL, work, (void *)(pages - 1500));
    char *memory = mmap(NULL, pages * 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    madvise(memory, pages * 4096, MADV_NOHUGEPAGE);
    for (long page = 0; page < pages; page++) {
        memory[page * 4096] = 1;
        if (page % 50 == 0)
            usleep(10);
    }
    if (pages > 2000)
        pthread_join(inner, NULL);
    struct rusage used;
    getrusage(RUSAGE_THREAD, &used);
    char line[100];
    int length = snprintf(line, sizeof line, "%ld %ld %ld\n", (long)syscall(SYS_gettid), used.ru_minflt,
                          used.ru_nvcsw);
    write(STDOUT_FILENO, line, length);
    return NULL;
}

int main(void)
{
    pthread_t threads[3];
    for (int round = 0; round < 2; round++) {
        for (long thread = 0; thread < 3; thread++)
            pthread_create(threads + thread, NULL, work, (void *)(1000 * (thread + 1)));
        for (int thread = 0; thread < 3; thread++)
            pthread_join(threads[thread], NULL);
    }
    if (fork() == 0) {
        work((void *)700L);
        _exit(0);
    }
    wait(NULL);
    work((void *)500L);
    return 0;
}
