/* Functions with more local data than a sample copies, which are gone when it is read: each runs
 * for a third of a millisecond, under a caller of its own, the two in turns. */
#include <time.h>

#define WORDS (24 * 1024 / sizeof(double))

static volatile double sink;

static double thread_cpu(void)
{
    struct timespec now;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    return now.tv_sec + 1e-9 * now.tv_nsec;
}

#define WIDE(name)                                                                                 \
    __attribute__((noipa)) void wide_##name(double until)                                          \
    {                                                                                              \
        double data[WORDS];                                                                        \
        do                                                                                         \
            for (unsigned i = 0; i < WORDS; i++)                                                   \
                ((volatile double *)data)[i] = until + i;                                          \
        while (thread_cpu() < until);                                                              \
        sink += data[WORDS / 2];                                                                   \
    }                                                                                              \
    __attribute__((noipa)) void outer_##name(double seconds)                                       \
    {                                                                                              \
        wide_##name(thread_cpu() + seconds);                                                       \
        sink += 1;                                                                                 \
    }

WIDE(a)
WIDE(b)

int main(void)
{
    double end = thread_cpu() + 0.6;
    while (thread_cpu() < end) {
        outer_a(3e-4);
        outer_b(3e-4);
    }
    return 0;
}
