// A child that goes on with OpenMP after fork. libgomp's threads are not copied with it, so its
// regions are of one thread.
#include <omp.h>
#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>

static volatile int sink;

static void region(int threads) {
#pragma omp parallel num_threads(threads)
    sink++;
}

int main(void) {
    region(2);
    fflush(stdout);
    pid_t child;
#pragma omp parallel num_threads(1)
    child = fork();
    region(child == 0 ? 1 : 2);
    if (child == 0)
        _exit(0);
    int status;
    waitpid(child, &status, 0);
    printf("parent=0x%x child=0x%x\n", getpid(), child);
    return status;
}
