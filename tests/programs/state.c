// Prints what a process has from whoever started it: all that a profiler must leave as it is.
#define _GNU_SOURCE
#include <dirent.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

extern char **environ;

static int by_text(const void *a, const void *b) {
    return strcmp(*(char *const *)a, *(char *const *)b);
}

int main(int count, char **arguments) {
    for (int i = 1; i < count; i++)
        printf("argument %s\n", arguments[i]);
    size_t variables = 0;
    while (environ[variables])
        variables++;
    char **sorted = malloc(variables * sizeof *sorted);
    memcpy(sorted, environ, variables * sizeof *sorted);
    qsort(sorted, variables, sizeof *sorted, by_text);
    for (size_t i = 0; i < variables; i++)
        printf("variable %s\n", sorted[i]);
    // Not by a directory, which would be one more.
    for (int fd = 0; fd < 1024; fd++) {
        struct stat file;
        if (fstat(fd, &file) == 0)
            printf("descriptor %d: type %o, flags %d, status %d\n", fd, file.st_mode & S_IFMT,
                   fcntl(fd, F_GETFD), fcntl(fd, F_GETFL));
    }
    for (int resource = 0; resource < RLIM_NLIMITS; resource++) {
        struct rlimit limit;
        if (getrlimit(resource, &limit) == 0)
            printf("limit %d: %lu %lu\n", resource, limit.rlim_cur, limit.rlim_max);
    }
    sigset_t mask;
    sigprocmask(SIG_BLOCK, NULL, &mask);
    for (int number = 1; number < 65; number++) {
        struct sigaction action;
        if (sigismember(&mask, number) == 1)
            printf("signal %d is blocked\n", number);
        if (sigaction(number, NULL, &action) == 0 && action.sa_handler == SIG_IGN)
            printf("signal %d is ignored\n", number);
    }
    cpu_set_t cpus;
    sched_getaffinity(0, sizeof cpus, &cpus);
    mode_t mode = umask(0);
    char folder[4096] = "";
    printf("folder %s\numask %o, priority %d, policy %d, CPUs %d\n", getcwd(folder, sizeof folder),
           mode, getpriority(PRIO_PROCESS, 0), sched_getscheduler(0), CPU_COUNT(&cpus));
    printf("session %d, group %d\n", getsid(0) == getsid(getppid()),
           getpgrp() == getpgid(getppid()) || getpgrp() == getpid());
    printf("dumpable %d, privileges %d, slack %d\n", prctl(PR_GET_DUMPABLE),
           prctl(PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0), prctl(PR_GET_TIMERSLACK));
    return 0;
}
