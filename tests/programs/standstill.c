/* Runs for some seconds, and writes into a file the longest time in which it did not go on. */
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

static int values[1 << 16];

static double now(void) {
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return time.tv_sec + 1e-9 * time.tv_nsec;
}

int main(int count, char **words) {
    if (count != 3) return 1;
    double begin = now(), last = begin, longest = 0;
    while (last < begin + atof(words[1])) {
#pragma omp parallel for num_threads(4) schedule(static, 1)
        for (int i = 0; i < 1 << 12; i++) values[i * 7919 & 0xffff] += i;
        double time = now();
        longest = time - last > longest ? time - last : longest;
        last = time;
    }
    FILE *file = fopen(words[2], "w");
    fprintf(file, "%.3f\n", longest);
    fclose(file);
    return 0;
}
