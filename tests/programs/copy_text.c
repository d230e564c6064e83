// Copies the text that holds an address to memory of the same addresses.
#define _GNU_SOURCE
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>

int copy_text_of(void *inside) {
    FILE *maps = fopen("/proc/self/maps", "r");
    uintptr_t start, end, at = (uintptr_t)inside;
    char line[512], permissions[5];
    while (fgets(line, sizeof line, maps))
        if (sscanf(line, "%lx-%lx %4s", &start, &end, permissions) == 3 && start <= at && at < end) break;
    fclose(maps);
    size_t length = end - start;
    void *text = (void *)start;
    void *saved = mmap(0, length, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    memcpy(saved, text, length);
    int flags = MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED;
    if (mmap(text, length, PROT_READ | PROT_WRITE | PROT_EXEC, flags, -1, 0) != text) return 1;
    memcpy(text, saved, length);
    munmap(saved, length);
    return mprotect(text, length, PROT_READ | PROT_EXEC);
}
