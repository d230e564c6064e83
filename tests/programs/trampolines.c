// Does what Python's interpreter does where it tells perf of its functions: each is called through generated code
// without a frame pointer, in a piece of memory. Prints the seconds that the innermost function took.
#define _GNU_SOURCE
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

typedef double evaluate(void *, long, int);
typedef double trampoline(void *, long, int, evaluate *);

static trampoline *trampolines[3];

static double now(void)
{
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return time.tv_sec + time.tv_nsec * 1e-9;
}

__attribute__((noinline)) double burn(double seconds)
{
    double begin = now(), value = 1;
    while (now() - begin < seconds)
        for (int i = 0; i < 1000; i++)
            value = value * 0.999 + 0.1;
    return value;
}

__attribute__((noinline)) double _PyEval_EvalFrameDefault(void *thread, long depth, int throws)
{
    volatile double value = 0;
    if (depth < 3)
        value = trampolines[depth](thread, depth + 1, throws, _PyEval_EvalFrameDefault);
    else
        value = burn(0.5);
    return value + 1;
}

int main(void)
{
    // sub rsp, 8; call rcx; add rsp, 8; ret
    static const unsigned char code[] = {0x48, 0x83, 0xec, 8, 0xff, 0xd1, 0x48, 0x83, 0xc4, 8, 0xc3};
    static const char *names[] = {"<module>", "Model.outer", "inner"};
    unsigned char *memory = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    char path[64];
    snprintf(path, sizeof path, "/tmp/perf-%d.map", getpid());
    FILE *map = fopen(path, "w");
    for (int i = 0; i < 3; i++) {
        memcpy(memory + 16 * i, code, sizeof code);
        trampolines[i] = (trampoline *)(memory + 16 * i);
        fprintf(map, "%lx %zx py::%s:/nowhere/model.py\n", (unsigned long)(memory + 16 * i), sizeof code, names[i]);
    }
    fclose(map);
    mprotect(memory, 4096, PROT_READ | PROT_EXEC);
    double begin = now();
    double value = trampolines[0](NULL, 1, 0, _PyEval_EvalFrameDefault);
    printf("%g\n", now() - begin);
    return value < 0;
}
