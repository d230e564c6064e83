/* A race in the child process alone. With an argument, the child ends at once, and nobody does anything. */
#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>

int main(int count, char **arguments)
{
    int x = 0;
    if (fork() == 0) {
        if (count == 1) {
#pragma omp parallel num_threads(2)
            for (int i = 0; i < 100; i++)
                x++;
        }
        _exit(x < 0);
    }
    wait(0);
    printf("%s\n", arguments[0]);
    return 0;
}
