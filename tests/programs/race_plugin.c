/* Races in a library that is unloaded before the program ends. Compiled with PLUGIN, it is the library. */
#ifdef PLUGIN
static double scratch[16];

void apply(double *values)
{
    for (int i = 0; i < 16; i++)
        scratch[i] = 2 * values[i]; /* scratch */
    for (int i = 0; i < 16; i++)
        values[i] = scratch[15 - i]; /* scratch */
}
#else
#include <dlfcn.h>
#include <stdio.h>

int main(int count, char **words)
{
    void *library = count > 1 ? dlopen(words[1], RTLD_NOW) : NULL;
    if (library == NULL) {
        fprintf(stderr, "%s\n", dlerror());
        return 1;
    }
    void (*apply)(double *) = (void (*)(double *))dlsym(library, "apply");
    double values[64] = {0};
#pragma omp parallel for
    for (int i = 0; i < 4; i++)
        apply(values + 16 * i);
    dlclose(library);
    printf("%g\n", values[0]);
}
#endif
