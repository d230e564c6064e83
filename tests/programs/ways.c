// Makes processes in every way that there is, with OpenMP before, inside and after.
#define _GNU_SOURCE
#include <omp.h>
#include <pthread.h>
#include <sched.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;
static volatile double sink;

static void region(void) {
#pragma omp parallel num_threads(2)
    for (int i = 0; i < 1000; i++)
        sink = i;
}

static void say(const char *what, int pid) {
    int status = -1;
    if (pid > 0)
        waitpid(pid, &status, 0);
    printf("%s: exit %d, signal %d\n", what, WIFEXITED(status) ? WEXITSTATUS(status) : -1,
           WIFSIGNALED(status) ? WTERMSIG(status) : 0);
    fflush(stdout);
}

static int cloned(void *argument) {
    (void)argument;
    _exit(8);
}

static void *in_thread(void *argument) {
    int pid = fork();
    if (pid == 0) {
        execl("/bin/sh", "sh", "-c", "exit 9", NULL);
        _exit(99);
    }
    say("fork in a thread", pid);
    return argument;
}

static void *exec_in_thread(void *argument) {
    execl("/bin/sh", "sh", "-c", "exit 10", NULL);
    return argument;
}

int main(int count, char **arguments) {
    if (count > 1 && strcmp(arguments[1], "again") == 0) {
        region();
        puts("again");
        return 11;
    }
    region();
    int pid = fork();
    if (pid == 0)
        _exit(3);
    say("fork", pid);
    if ((pid = vfork()) == 0) {
        execl("/bin/sh", "sh", "-c", "exit 4", NULL);
        _exit(99);
    }
    say("vfork", pid);
    char *const shell[] = {"sh", "-c", "exit 5", NULL};
    posix_spawn(&pid, "/bin/sh", NULL, NULL, shell, environ);
    say("posix_spawn", pid);
    printf("system: %d\n", WEXITSTATUS(system("exit 6")));
    FILE *pipe = popen("echo piped; exit 7", "r");
    char line[64] = "";
    fgets(line, sizeof line, pipe);
    printf("popen: %s%d\n", line, WEXITSTATUS(pclose(pipe)));
    static char stack[1 << 16];
    pid = clone(cloned, stack + sizeof stack, SIGCHLD | CLONE_VM | CLONE_VFORK, NULL);
    say("clone", pid);
    pthread_t thread;
    pthread_create(&thread, NULL, in_thread, NULL);
    pthread_join(thread, NULL);
    if ((pid = fork()) == 0) {
        pthread_create(&thread, NULL, exec_in_thread, NULL);
        pthread_join(thread, NULL);
        _exit(99);
    }
    say("exec in a thread", pid);
    if ((pid = fork()) == 0) {
        execl("/proc/self/exe", arguments[0], "again", NULL);
        _exit(99);
    }
    say("exec of itself", pid);
    int children[2] = {0, 0};
#pragma omp parallel num_threads(2)
    {
        int own = fork();
        if (own == 0)
            _exit(20 + omp_get_thread_num());
        children[omp_get_thread_num()] = own;
    }
    say("fork in a region, first thread", children[0]);
    say("fork in a region, second thread", children[1]);
    for (int i = 0; i < 20; i++)
        if (fork() == 0) {
            if (fork() == 0)
                _exit(0);
            wait(NULL);
            _exit(i);
        }
    int sum = 0, status;
    while (wait(&status) > 0)
        sum += WEXITSTATUS(status);
    printf("twenty: %d\n", sum);
    if ((pid = fork()) == 0)
        abort();
    say("abort", pid);
    region();
    return 12;
}
