// Starts the program of its second argument, or by the name of its third one, which is searched in PATH, in
// the way that its first argument names. That is done in a child, after a region; with a fourth argument, in
// its own process. Prints how the child ended, or why it could not be started.
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <omp.h>
#include <spawn.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;

// The environment with a variable more.
static char **own_environment(void) {
    static char *all[1000];
    int count = 0;
    for (char **at = environ; *at && count < 990; at++)
        all[count++] = *at;
    all[count++] = "OWN=1";
    return all;
}

// The kernel ends the process at this system call.
static void forbid(int number, int by_prctl) {
    struct sock_filter filter[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, number, 0, 1),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
    };
    struct sock_fprog program = {sizeof filter / sizeof *filter, filter};
    prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
    if (by_prctl ? prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program)
                 : syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, &program))
        perror("seccomp");
}

static void start(const char *way, char *path, char *name) {
    char *words[] = {path, "1", "2", "3", "4", "5", "6", "7", "8", NULL};
#define WORDS path, "1", "2", "3", "4", "5", "6", "7", "8", (char *)NULL
    if (!strcmp(way, "execl"))
        execl(path, WORDS);
    else if (!strcmp(way, "execl short"))
        execl(path, path, (char *)NULL);
    else if (!strcmp(way, "execlp"))
        execlp(name, WORDS);
    else if (!strcmp(way, "execle"))
        execle(path, WORDS, own_environment());
    else if (!strcmp(way, "execv"))
        execv(path, words);
    else if (!strcmp(way, "execvp"))
        execvp(name, words);
    else if (!strcmp(way, "execve"))
        execve(path, words, own_environment());
    else if (!strcmp(way, "execve none"))
        execve(path, words, NULL);
    else if (!strcmp(way, "execvpe"))
        execvpe(name, words, own_environment());
    else if (!strcmp(way, "fexecve"))
        fexecve(open(path, O_RDONLY | O_CLOEXEC), words, own_environment());
    else if (!strcmp(way, "fexecve path"))
        fexecve(open(path, O_PATH | O_CLOEXEC), words, own_environment());
    else if (!strcmp(way, "execveat"))
        execveat(AT_FDCWD, path, words, own_environment(), 0);
    else if (!strcmp(way, "execveat file"))
        execveat(open(path, O_RDONLY | O_CLOEXEC), "", words, own_environment(), AT_EMPTY_PATH);
    else if (!strncmp(way, "filter", 6))
        forbid(SYS_pread64, way[6] != 0), execv(path, words);
    else
        errno = 0;
}

static void report(const char *way, int status) {
    if (WIFEXITED(status))
        printf("%s: %d\n", way, WEXITSTATUS(status));
    else
        printf("%s: signal %d\n", way, WTERMSIG(status));
    fflush(stdout);
}

int main(int count, char **arguments) {
    if (count < 4)
        return 2;
    int sum = 0, status = 0;
#pragma omp parallel num_threads(2) reduction(+ : sum)
    sum += omp_get_thread_num();
    const char *way = arguments[1];
    char *path = arguments[2], *name = arguments[3];
    if (count > 4) {
        start(way, path, name);
        perror(way);
        return 3;
    }
    char *words[] = {path, "1", "2", NULL};
    pid_t child = 0;
    if (!strcmp(way, "posix_spawn") || !strcmp(way, "posix_spawnp")) {
        char **all = own_environment();
        int failed = way[11] ? posix_spawnp(&child, name, NULL, NULL, words, all)
                             : posix_spawn(&child, path, NULL, NULL, words, all);
        if (failed)
            return printf("%s: %s\n", way, strerror(failed)), 0;
    } else if (!strcmp(way, "system")) {
        return report(way, system(path)), 0;
    } else if (!strcmp(way, "popen")) {
        char line[1000];
        FILE *output = popen(path, "r");
        while (output && fgets(line, sizeof line, output))
            fputs(line, stdout);
        return report(way, output ? pclose(output) : 0), 0;
    } else if (!strcmp(way, "vfork")) {
        if ((child = vfork()) == 0) {
            execv(path, words);
            _exit(errno);
        }
    } else if ((child = fork()) == 0) {
        start(way, path, name);
        perror(way);
        _exit(errno);
    }
    waitpid(child, &status, 0);
    report(way, status);
    return 0;
}
