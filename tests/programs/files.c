// Its code is in no file, in one that is gone, or in one that another file has replaced, by its first argument:
//
//   delete             deletes its own file
//   replace OTHER      moves another file to its own place
//   memory             starts itself anew from a file in memory
//   library LIBRARY    opens a library and deletes its file
//   copy               copies its text to memory of the same addresses, as programs do that want large pages
//   generate           generates two functions, and tells of one in the map that perf reads
//
// It prints the seconds of work in its region. A library is this file with -DLIBRARY; with -DOTHER, the region's
// function has another name, behind one more.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#ifdef OTHER
#define work another
__attribute__((noinline)) int before(int n) { return n * 7; }
#endif

typedef void (*loop)(long);
static volatile double sink;

static double now(void) {
    struct timespec t;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return t.tv_sec + 1e-9 * t.tv_nsec;
}

// Generated code if it is given, else its own, for 0.6 s.
__attribute__((noinline)) void burn(loop generated) {
    for (double end = now() + 0.6; now() < end;) {
        if (generated)
            generated(1000000);
        else
            for (int i = 0; i < 200000; i++) sink += i;
    }
}

__attribute__((noinline)) double work(loop one, loop other) {
    double sum = 0;
#pragma omp parallel num_threads(2) reduction(+ : sum)
    {
        double begin = now();
        burn(one);
        burn(other);
        sum += now() - begin;
    }
    return sum;
}

#ifndef LIBRARY
extern char **environ;

static int from_memory(char **argv) {
    char bytes[65536];
    ssize_t length;
    int in = open("/proc/self/exe", O_RDONLY), memory = memfd_create("packed", 0);
    while ((length = read(in, bytes, sizeof bytes)) > 0)
        if (write(memory, bytes, length) != length) return 2;
    argv[1] = "plain";
    fexecve(memory, argv, environ);
    return 3;
}

// In a library of its own: the code that copies cannot be what is copied.
static int copy_text(void) {
    int (*copy)(void *) = (int (*)(void *))dlsym(RTLD_DEFAULT, "copy_text_of");
    return copy ? copy((void *)work) : 4;
}

int main(int argc, char **argv) {
    const char *way = argc > 1 ? argv[1] : "plain";
    double (*called)(loop, loop) = work;
    loop one = 0, other = 0;
    if (!strcmp(way, "delete") && unlink(argv[0])) return 1;
    if (!strcmp(way, "replace") && rename(argv[2], argv[0])) return 1;
    if (!strcmp(way, "memory")) return from_memory(argv);
    if (!strcmp(way, "copy") && copy_text()) return 1;
    if (!strcmp(way, "library")) {
        void *library = dlopen(argv[2], RTLD_NOW);
        if (!library || unlink(argv[2])) return 1;
        called = (double (*)(loop, loop))dlsym(library, "work");
    }
    if (!strcmp(way, "generate")) {
        // mov %rdi,%rcx; dec %rcx; jne; ret
        static const unsigned char code[] = {0x48, 0x89, 0xf9, 0x48, 0xff, 0xc9, 0x75, 0xfb, 0xc3};
        char *page = mmap(0, 8192, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        char name[64];
        one = (loop)memcpy(page, code, sizeof code);
        other = (loop)memcpy(page + 4096, code, sizeof code);
        snprintf(name, sizeof name, "/tmp/perf-%d.map", getpid());
        FILE *map = fopen(name, "w");
        fprintf(map, "%lx %zx told\n", (long)page, sizeof code);
        fclose(map);
    }
    printf("%.6f\n", called(one, other));
    return 0;
}
#endif
