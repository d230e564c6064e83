/* The functions of GASP 1.5 that an instrumented runtime of UPC calls, for Parallax.

   This object is linked into the program, where it takes the place of the runtime's own weak functions. The library that
   `collect` preloads has the functions that record; without it each call makes one test and returns.

   The numbers of events differ between runtimes. Which one it is, is known by a function that only that one has, or
   with PARALLAX_GASP_NUMBERS=1 (Berkeley UPC) or =2 (GUPC, clang-upc). */

#include <stdarg.h>

#define WEAK __attribute__((weak))

/* In the preloaded library. */
extern WEAK void parallax_gasp_init(int model, int numbers);
extern WEAK void parallax_gasp_event(unsigned int event, int type, va_list *arguments, void *code, void *frame);
extern WEAK int parallax_gasp_control(int on);
extern WEAK unsigned int parallax_gasp_create_event(const char *name, const char *description);

/* In the runtimes. */
extern WEAK void _upcr_notify(void);
extern WEAK void __upc_barrier(int);

#ifndef PARALLAX_GASP_NUMBERS
#define PARALLAX_GASP_NUMBERS (_upcr_notify ? 1 : __upc_barrier ? 2 : 0)
#endif

typedef struct gasp_context { int unused; } *gasp_context_t;
static struct gasp_context context;

gasp_context_t gasp_init(int model, int *argc, char ***argv) {
  (void)argc;
  (void)argv;
  if (parallax_gasp_init)
    parallax_gasp_init(model, PARALLAX_GASP_NUMBERS);
  return &context;
}

#define NOTIFY(event, type, arguments) \
  parallax_gasp_event(event, type, arguments, __builtin_return_address(0), __builtin_frame_address(0))

void gasp_event_notifyVA(gasp_context_t of, unsigned int event, int type, const char *file, int line, int column,
                         va_list arguments) {
  (void)of;
  (void)file;
  (void)line;
  (void)column;
  if (parallax_gasp_event) {
    va_list own;
    va_copy(own, arguments);
    NOTIFY(event, type, &own);
    va_end(own);
  }
}

void gasp_event_notify(gasp_context_t of, unsigned int event, int type, const char *file, int line, int column, ...) {
  (void)of;
  (void)file;
  (void)line;
  (void)column;
  if (parallax_gasp_event) {
    va_list arguments;
    va_start(arguments, column);
    NOTIFY(event, type, &arguments);
    va_end(arguments);
  }
}

int gasp_control(gasp_context_t of, int on) {
  (void)of;
  return parallax_gasp_control ? parallax_gasp_control(on) : 0;
}

unsigned int gasp_create_event(gasp_context_t of, const char *name, const char *description) {
  (void)of;
  return parallax_gasp_create_event ? parallax_gasp_create_event(name, description) : 0;
}

/* What programs call, where the runtime has none. */
WEAK int pupc_control(int on) { return gasp_control(&context, on); }

WEAK unsigned int pupc_create_event(const char *name, const char *description) {
  return gasp_create_event(&context, name, description);
}

#define PUPC(name, type)                    \
  WEAK void name(unsigned int event, ...) { \
    if (parallax_gasp_event) {              \
      va_list arguments;                    \
      va_start(arguments, event);           \
      NOTIFY(event, type, &arguments);      \
      va_end(arguments);                    \
    }                                       \
  }

PUPC(pupc_event_start, 0)
PUPC(pupc_event_end, 1)
PUPC(pupc_event_atomic, 2)
