/* Changes its root to an empty folder before the first region; an ordinary user in a namespace of its own. */
#define _GNU_SOURCE
#include <omp.h>
#include <sched.h>
#include <stdio.h>
#include <unistd.h>

static double work(int units) {
    volatile double value = 1;
    for (int k = 0; k < units; k++)
        for (int i = 0; i < 400000; i++) value = value * 0.999 + 0.001;
    return value;
}

int main(int count, char **words) {
    if (count != 2) return 1;
    if (chroot(words[1]) && (unshare(CLONE_NEWUSER) || chroot(words[1]))) {
        perror("chroot");
        return 2;
    }
    double sum = 0;
#pragma omp parallel num_threads(2) reduction(+ : sum)
    sum += work(100);
    printf("%d\n", sum > 0);
    return 3;
}
