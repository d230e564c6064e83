// Runs the program that it is given, as shells and make do it, and waits for it.
#include <spawn.h>
#include <sys/wait.h>

extern char **environ;

int main(int count, char **arguments)
{
    pid_t pid;
    int status;
    if (count < 2 || posix_spawn(&pid, arguments[1], 0, 0, arguments + 1, environ))
        return 1;
    waitpid(pid, &status, 0);
    return WEXITSTATUS(status);
}
