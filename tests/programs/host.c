/* Opens libraries and calls a function of each: for each a path, a symbol and whether it is bound
 * to its own dependencies first. Itself without OpenMP, as interpreters are. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdio.h>
#include <string.h>

int main(int argc, char **argv)
{
    for (int i = 1; i + 2 < argc; i += 3) {
        int deep = strcmp(argv[i + 2], "deep") == 0;
        void *library = dlopen(argv[i], RTLD_NOW | (deep ? RTLD_DEEPBIND : 0));
        void (*part)(void) = library ? (void (*)(void))dlsym(library, argv[i + 1]) : 0;
        if (!part) {
            fprintf(stderr, "%s\n", dlerror());
            return 1;
        }
        part();
    }
    return 0;
}
