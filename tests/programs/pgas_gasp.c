// Plays the part of an instrumented runtime of UPC: no compiler of UPC is needed. It notifies of every event of the runtime
// once or more, and of the program's own. NUMBERS is 1 for Berkeley's numbers, 2 for those of GUPC and clang-upc.
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include "pupc.h"

typedef struct gasp_context *gasp_context_t;
gasp_context_t gasp_init(int model, int *argc, char ***argv);
void gasp_event_notify(gasp_context_t of, unsigned event, int type, const char *file, int line, int column, ...);
void gasp_event_notifyVA(gasp_context_t of, unsigned event, int type, const char *file, int line, int column, va_list);
int gasp_control(gasp_context_t of, int on);
unsigned gasp_create_event(gasp_context_t of, const char *name, const char *description);

#if NUMBERS == 1
void _upcr_notify(void) {}
enum { UPC_NOTIFY = 1100, UPC_WAIT, UPC_PUT = 1110, UPC_GET, UPC_LOCK = 1014, UPC_ALL_ALLOC = 1002, UPC_MEMGET = 1030 };
static const unsigned all[] = {1000, 1001, 1002, 1003, 1010, 1011, 1012, 1013, 1014, 1015, 1020, 1021, 1022, 1023, 1030,
    1031, 1032, 1033, 1100, 1101, 1110, 1111, 1120, 1121, 1122, 1130, 1131, 1132, 1133, 1140, 1210, 1211, 1300, 1310, 1320,
    1330, 1340, 1350, 1400, 1410};
#else
void __upc_barrier(int number) { (void)number; }
enum { UPC_NOTIFY = 7, UPC_WAIT, UPC_BARRIER, UPC_FORALL = 11, UPC_ALL_ALLOC = 13, UPC_LOCK = 19, UPC_MEMGET = 23, UPC_GET = 26,
    UPC_PUT };
static const unsigned all[] = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21, 22, 23, 24, 25, 26,
    27, 28, 29, 30, 31, 32, 33, 34, 35, 36, 37, 38, 39, 40, 41, 42, 43};
#endif
enum { START, END, ATOMIC };
#define EVENT(event, type, ...) gasp_event_notify(context, event, type, __FILE__, __LINE__, 0, __VA_ARGS__)

static gasp_context_t context;

static void by_list(unsigned event, int type, ...) {
    va_list arguments;
    va_start(arguments, type);
    gasp_event_notifyVA(context, event, type, __FILE__, __LINE__, 0, arguments);
    va_end(arguments);
}

static void spin(double milliseconds) {
    struct timespec begin, now;
    clock_gettime(CLOCK_MONOTONIC, &begin);
    do
        clock_gettime(CLOCK_MONOTONIC, &now);
    while ((now.tv_sec - begin.tv_sec) * 1e3 + (now.tv_nsec - begin.tv_nsec) / 1e6 < milliseconds);
}

int main(int argc, char **argv) {
    context = gasp_init(0, &argc, &argv);
    void *shared = all;
    // Each event once, without bytes.
    for (unsigned i = 0; i < sizeof all / sizeof *all; i++) {
        EVENT(all[i], START, 0L, 0L, 0L, 0L, 0L, 0L);
        EVENT(all[i], END, 0L, 0L, 0L, 0L, 0L, 0L);
    }
    // Bytes.
    for (int i = 0; i < 10; i++) {
        EVENT(UPC_GET, START, 1, argv, shared, (size_t)64);
        EVENT(UPC_GET, END, 1, argv, shared, (size_t)64);
        by_list(UPC_PUT, START, 1, shared, argv, (size_t)8);
        by_list(UPC_PUT, END, 1, shared, argv, (size_t)8);
    }
    EVENT(UPC_MEMGET, START, argv, shared, (size_t)4096);
    // Inside of a call that is recorded: not another one.
    EVENT(UPC_GET, START, 1, argv, shared, (size_t)4096);
    EVENT(UPC_GET, END, 1, argv, shared, (size_t)4096);
    EVENT(UPC_MEMGET, END, argv, shared, (size_t)4096);
    EVENT(UPC_ALL_ALLOC, START, (size_t)10, (size_t)8);
    EVENT(UPC_ALL_ALLOC, END, (size_t)10, (size_t)8, shared);
    // A barrier in which the thread waits.
    EVENT(UPC_NOTIFY, START, 0, 0);
    EVENT(UPC_NOTIFY, END, 0, 0);
    EVENT(UPC_WAIT, START, 0, 0);
    spin(30);
    EVENT(UPC_WAIT, END, 0, 0);
#if NUMBERS == 2
    // A divided loop, with accesses in it.
    EVENT(UPC_FORALL, START, 0);
    spin(20);
    EVENT(UPC_GET, START, 0, argv, shared, (size_t)1);
    EVENT(UPC_GET, END, 0, argv, shared, (size_t)1);
    EVENT(UPC_FORALL, END, 0);
#endif
    // The program's own.
    unsigned solve = pupc_create_event("solve", "step %d of %s, %.2f");
    unsigned plain = gasp_create_event(context, "plain", NULL);
    unsigned wrong = pupc_create_event("wrong", "%n");
    pupc_event_start(solve, 3, "nine", 0.5);
    pupc_event_start(plain);
    spin(10);
    pupc_event_end(plain);
    pupc_event_end(solve, 3, "nine", 0.5);
    pupc_event_atomic(plain);
    // Recording is off: not recorded, and no mistake.
    int was = pupc_control(0);
    EVENT(UPC_GET, START, 1, argv, shared, (size_t)64);
    pupc_event_start(plain);
    int off = gasp_control(context, 1);
    pupc_event_end(plain);
    EVENT(UPC_GET, END, 1, argv, shared, (size_t)64);
    // Mistakes.
    pupc_event_end(plain);
    EVENT(UPC_LOCK, END, shared);
    pupc_event_start(solve, 4, "nine", 0.5);
    pupc_event_start(plain);
    pupc_event_end(solve);
    pupc_event_start(wrong, &was);
    pupc_event_end(wrong);
    EVENT(77777, ATOMIC, 0);
    pupc_event_atomic(wrong + 5);
    printf("%u %u %d %d\n", solve, plain, was, off);
    return 0;
}
