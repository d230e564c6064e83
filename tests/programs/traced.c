/* A program that asks to be traced, or traces its child, and says each signal that the tracer sees. */
#define _GNU_SOURCE
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static void spend(double time) {
    struct timespec now;
    do {
        clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
    } while (now.tv_sec + now.tv_nsec * 1e-9 < time);
}

/* Traces the child until it ends. */
static void trace(pid_t child) {
    int status;
    while (waitpid(child, &status, 0) == child && WIFSTOPPED(status)) {
        printf("stopped by %d\n", WSTOPSIG(status));
        ptrace(PTRACE_CONT, child, 0, 0);
    }
    printf("exited with %d\n", WEXITSTATUS(status));
}

int main(int count, char **words) {
    const char *way = count > 1 ? words[1] : "";
    setvbuf(stdout, 0, _IOLBF, 4096);
    if (!strcmp(way, "asks")) {
        ptrace(PTRACE_TRACEME, 0, 0, 0);
    } else if (!strcmp(way, "calls")) {
        syscall(SYS_ptrace, PTRACE_TRACEME, 0, 0, 0);
    } else if (!strcmp(way, "child") || !strcmp(way, "exec")) {
        pid_t child = fork();
        if (!child) {
            ptrace(PTRACE_TRACEME, 0, 0, 0);
            if (!strcmp(way, "exec")) execl(words[0], words[0], "works", (char *)0);
            raise(SIGSTOP);
            spend(0.2);
            _exit(4);
        }
        trace(child);
        return 3;
    }
    spend(0.2);
    puts("end");
    return 3;
}
