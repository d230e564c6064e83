/* Threads race for a sum, until the process that started this one is gone. */
#include <stdio.h>
#include <unistd.h>

int main(void)
{
    long sum = 0;
    pid_t parent = getppid();
    while (getppid() == parent) {
#pragma omp parallel
        sum = sum + 1;
        usleep(1000);
    }
    printf("%d\n", sum > 0);
    return 0;
}
