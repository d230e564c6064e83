/* Ways to use signals, stacks for them, and small stacks. Each says what came of it. */
#define _GNU_SOURCE
#include <errno.h>
#include <limits.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static volatile double sink;
static volatile long handled;

static void burn(double seconds) {
    struct timespec begin, now;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &begin);
    do {
        for (int i = 0; i < 1000; i++) sink += i;
        clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    } while (now.tv_sec - begin.tv_sec + (now.tv_nsec - begin.tv_nsec) * 1e-9 < seconds);
}

static void count(int number) {
    (void)number;
    handled++;
}

/* Nothing may be written below the stack: that page is protected. */
static void on_alternate_stack(size_t size) {
    char *pages = mmap(0, 8192, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    mprotect(pages, 4096, PROT_NONE);
    stack_t stack = {.ss_sp = pages + 4096, .ss_size = size};
    printf("%d\n", sigaltstack(&stack, 0) ? errno : 0);
    burn(0.3);
}

/* A thread that uses its stack up to the last kilobytes. */
static void *in_small_stack(void *unused) {
    (void)unused;
    char most[PTHREAD_STACK_MIN - 7000];
    memset(most, 1, sizeof most);
    burn(0.3);
    sink += most[(int)sink % 100];
    return 0;
}

static void in_small_thread(void) {
    pthread_attr_t attributes;
    pthread_attr_init(&attributes);
    pthread_attr_setstacksize(&attributes, PTHREAD_STACK_MIN);
    pthread_t thread;
    int failed = pthread_create(&thread, &attributes, in_small_stack, 0);
    if (!failed) pthread_join(thread, 0);
    printf("%d\n", failed);
}

/* A read that a signal interrupts, as long as its flags do not say otherwise. */
static void in_read(void) {
    int ends[2];
    if (pipe(ends)) return;
    int child = fork();
    if (!child) {
        usleep(300000);
        kill(getppid(), SIGURG);
        usleep(300000);
        _exit(write(ends[1], "x", 1) != 1);
    }
    char byte;
    ssize_t result = read(ends[0], &byte, 1);
    printf("%zd %d %ld\n", result, result < 0 ? errno : 0, handled);
    waitpid(child, 0, 0);
}

int main(int count_of_words, char **words) {
    const char *way = count_of_words > 1 ? words[1] : "";
    if (!strcmp(way, "alternate")) on_alternate_stack(2048);
    if (!strcmp(way, "page")) on_alternate_stack(4096);
    if (!strcmp(way, "small")) in_small_thread();
    if (!strcmp(way, "once")) {
        struct sigaction action = {.sa_handler = count, .sa_flags = SA_RESETHAND}, left;
        sigaction(SIGURG, &action, 0);
        for (int i = 0; i < 5; i++) raise(SIGURG);
        sigaction(SIGURG, 0, &left);
        printf("%ld %d\n", handled, left.sa_handler == SIG_DFL);
    }
    if (!strcmp(way, "sigset")) {
        sigset(SIGURG, count);
        burn(0.2);
        raise(SIGURG);
        printf("%ld\n", handled);
    }
    if (!strcmp(way, "bsd")) {
        ssignal(SIGURG, count);
        burn(0.2);
        raise(SIGURG);
        raise(SIGURG);
        printf("%ld\n", handled);
    }
    if (!strcmp(way, "interrupts")) {
        struct sigaction action = {.sa_handler = count};
        sigaction(SIGURG, &action, 0);
        in_read();
    }
    return 3;
}
