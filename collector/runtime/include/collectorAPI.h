/* What a program can say to Parallax's `collect` about its recording.
 *
 * The functions are those of Sun Studio's and gprofng's header of this name, and phases. They need no
 * library at link time: a call finds the function of the library that `collect` loads. Without
 * `collect`, a call costs about a nanosecond and does nothing.
 */
#ifndef PARALLAX_COLLECTOR_API_H
#define PARALLAX_COLLECTOR_API_H

#include <dlfcn.h>

/* A static program has no dlsym, and older C libraries have it in a library of its own. */
#pragma weak dlsym

#if defined(__GNUC__) || defined(__clang__)
#define PARALLAX_INLINE static inline __attribute__((unused))
#else
#define PARALLAX_INLINE static inline
#endif

/* The function of this name in `collect`'s library, kept in `*known`; 0 if there is none. */
PARALLAX_INLINE void *parallax_find(void **known, const char *name) {
  void *found = __atomic_load_n(known, __ATOMIC_RELAXED);
  if (__builtin_expect(found == (void *)1, 0)) {
    /* 0 is RTLD_DEFAULT. */
    found = dlsym ? dlsym((void *)0, name) : (void *)0;
    __atomic_store_n(known, found, __ATOMIC_RELAXED);
  }
  return found;
}

#define PARALLAX_CALL(name)                                                                          \
  static void *parallax_known = (void *)1;                                                           \
  void *parallax_found = parallax_find(&parallax_known, name);                                       \
  if (parallax_found)

/* Pauses recording: until it resumes, no view counts any time or event, of any thread or process. */
PARALLAX_INLINE void collector_pause(void) {
  PARALLAX_CALL("collector_pause") (__extension__(void (*)(void))parallax_found)();
}

/* Lets recording go on. */
PARALLAX_INLINE void collector_resume(void) {
  PARALLAX_CALL("collector_resume") (__extension__(void (*)(void))parallax_found)();
}

/* Makes a sample point with a name of at most 64 bytes, or none if it is NULL. */
PARALLAX_INLINE void collector_sample(const char *name) {
  PARALLAX_CALL("collector_sample") (__extension__(void (*)(const char *))parallax_found)(name);
}

/* Ends the recording; the program goes on. */
PARALLAX_INLINE void collector_terminate_expt(void) {
  PARALLAX_CALL("collector_terminate_expt") (__extension__(void (*)(void))parallax_found)();
}

/* Begins a phase of the process, within the one that it is in. A name has at most 64 bytes. */
PARALLAX_INLINE void collector_phase_begin(const char *name) {
  PARALLAX_CALL("collector_phase_begin") (__extension__(void (*)(const char *))parallax_found)(name);
}

/* Ends the innermost phase of the process. */
PARALLAX_INLINE void collector_phase_end(void) {
  PARALLAX_CALL("collector_phase_end") (__extension__(void (*)(void))parallax_found)();
}

#endif
