// A child that goes on with OpenMP after fork, and one thread that outlives its last event.
#include <omp.h>
#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>

static volatile int sink;

static void region(void) {
#pragma omp parallel num_threads(2)
    sink++;
}

int main(void) {
    region();
    fflush(stdout);
    pid_t child = fork();
    region();
    region();
    if (child == 0)
        _exit(0);
    int status;
    waitpid(child, &status, 0);
    printf("parent=0x%x child=0x%x\n", getpid(), child);
    return status;
}
