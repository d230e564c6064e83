/* Children, and threads of one, that end in a way of which the C library does not know. Says the CPU time of all. */
#define _GNU_SOURCE
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static double seconds(int who) {
    struct rusage usage;
    getrusage(who, &usage);
    return usage.ru_utime.tv_sec + usage.ru_stime.tv_sec +
           (usage.ru_utime.tv_usec + usage.ru_stime.tv_usec) * 1e-6;
}

static double clock_of_thread(void) {
    struct timespec now;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    return now.tv_sec + now.tv_nsec * 1e-9;
}

static void spend(double time) {
    double end = clock_of_thread() + time;
    while (clock_of_thread() < end);
}

static void *thread(void *unused) {
    (void)unused;
    spend(0.05);
    syscall(SYS_exit, 0);
    return 0;
}

int main(int count, char **words) {
    const char *way = count > 1 ? words[1] : "";
    double of_others = 0;
    if (!strcmp(way, "exit_group")) {
        for (int i = 0; i < 40; i++) {
            if (!fork()) {
                spend(0.03);
                syscall(SYS_exit_group, 0);
            }
        }
    } else if (!strcmp(way, "killed")) {
        for (int i = 0; i < 10; i++) {
            if (!fork()) {
                spend(0.1);
                kill(getpid(), SIGKILL);
            }
        }
    } else if (!strcmp(way, "orphans")) {
        for (int i = 0; i < 20; i++) {
            if (!fork()) {
                if (!fork()) {
                    spend(0.05);
                    _exit(0);
                }
                _exit(0);
            }
            wait(0);
            of_others += 0.05;
        }
        sleep(2);
    } else if (!strcmp(way, "threads")) {
        for (int i = 0; i < 20; i++) {
            pthread_t id;
            pthread_create(&id, 0, thread, 0);
            pthread_join(id, 0);
        }
    }
    while (wait(0) > 0);
    printf("%.6f\n", of_others + seconds(RUSAGE_SELF) + seconds(RUSAGE_CHILDREN));
    return 0;
}
