/* Functions of the C library in versions that older systems have: glibc 2.17 for the library, 2.28 for
   programs. See lib.rs. Everything that is defined here is hidden, so it serves only the program or
   library that it is linked into. Names of versions are those of x86-64. */

#include <stddef.h>

/* Until glibc 2.32 a static part of the C library made these of functions with the number of the
   structure's form before their arguments. On x86-64 `struct stat` and `struct stat64` are the same. */
#define FORM 1
int old_fxstat(int form, int file, void *to);
int old_lxstat(int form, const char *path, void *to);
int old_xstat(int form, const char *path, void *to);
__asm__(".symver old_fxstat, __fxstat64@GLIBC_2.2.5\n"
        ".symver old_lxstat, __lxstat64@GLIBC_2.2.5\n"
        ".symver old_xstat, __xstat64@GLIBC_2.2.5\n");
int fstat(int file, void *to) { return old_fxstat(FORM, file, to); }
int fstat64(int file, void *to) { return old_fxstat(FORM, file, to); }
int lstat(const char *path, void *to) { return old_lxstat(FORM, path, to); }
int lstat64(const char *path, void *to) { return old_lxstat(FORM, path, to); }
int stat(const char *path, void *to) { return old_xstat(FORM, path, to); }
int stat64(const char *path, void *to) { return old_xstat(FORM, path, to); }

/* System calls that the C library had no function for. The standard library calls these by weak
   references, but a weak reference has a version, too. */
long syscall(long number, ...);
int gettid(void) { return (int)syscall(186); }
int statx(int folder, const char *path, int flags, unsigned mask, void *to) {
    return (int)syscall(332, folder, path, flags, mask, to);
}
#ifndef PROGRAM
long getrandom(void *to, size_t bytes, unsigned flags) { return syscall(318, to, bytes, flags); }
int memfd_create(const char *name, unsigned flags) { return (int)syscall(319, name, flags); }
#endif

/* Functions that the standard library does without where its weak references to them are null. */
#define NONE(name) __asm__(".globl " #name "\n.hidden " #name "\n.set " #name ", 0\n")
#ifdef PROGRAM
NONE(posix_spawn_file_actions_addchdir_np); /* 2.29 */
#else
NONE(__cxa_thread_atexit_impl); /* 2.18 */
#endif

#ifdef PROGRAM
/* Programs linked with glibc 2.34 and later leave their initialisers to the C library. An older one calls
   the function `init` for that, which the start code of such a program leaves out; and a newer one calls
   it, too, if it is given. */
typedef void initialiser(int count, char **words, char **environment);
extern initialiser *__init_array_start[] __attribute__((visibility("hidden")));
extern initialiser *__init_array_end[] __attribute__((visibility("hidden")));
static void initialise(int count, char **words, char **environment) {
    size_t initialisers = (size_t)(__init_array_end - __init_array_start);
    for (size_t i = 0; i < initialisers; i++)
        __init_array_start[i](count, words, environment);
}

typedef int start(int (*run)(int, char **, char **), int count, char **words, initialiser *init,
                  void (*fini)(void), void (*end_of_linker)(void), void *stack);
start old_start;
__asm__(".symver old_start, __libc_start_main@GLIBC_2.2.5\n");
int __libc_start_main(int (*run)(int, char **, char **), int count, char **words, initialiser *init,
                      void (*fini)(void), void (*end_of_linker)(void), void *stack) {
    return old_start(run, count, words, init ? init : initialise, fini, end_of_linker, stack);
}
#endif
