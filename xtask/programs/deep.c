// A second of work below a stack of many frames, which returns to half of its depth and comes back
// a thousand times a second, so that stacks are many and alike.
//
// usage: deep FRAMES
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

static volatile double sink;
static volatile int zero;

static double now(void) {
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return time.tv_sec + time.tv_nsec * 1e-9;
}

static __attribute__((noinline)) void work(void) {
    for (int i = 0; i < 200000; i++)
        sink = sink * 0.5 + i;
}

// `zero` keeps the call from being the last thing that is done.
static __attribute__((noinline)) int down(int frames) {
    int result = 0;
    if (frames > 0)
        result = down(frames - 1);
    else
        work();
    return result + zero;
}

static __attribute__((noinline)) int half(int frames, int rest, double end) {
    int result = 0;
    if (frames > 0)
        result = half(frames - 1, rest, end);
    else
        while (now() < end)
            result += down(rest);
    return result + zero;
}

int main(int argc, char **argv) {
    int frames = argc > 1 ? atoi(argv[1]) : 100;
    return half(frames / 2, frames - frames / 2, now() + 1.0);
}
