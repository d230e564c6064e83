/* Records what a profiler's sample holds: all registers and the stack bytes above sp.
 *
 * SNAP() takes one record where it stands. STEP(call) takes one before every instruction of the
 * call, in whatever load object, so that prologues, epilogues, PLT stubs and the dynamic linker
 * are all seen. Records: a tag, 17 registers in DWARF order, the number of stack bytes, the bytes.
 * The memory map follows in a file of its own. */
#define _GNU_SOURCE
#include <fcntl.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/uio.h>
#include <ucontext.h>
#include <unistd.h>

enum { DUMP = 16384, PAGE = 4096, MOST_RECORDS = 4000, TRAP_FLAG = 0x100 };

static int capture_fd = -1;
static const char *capture_path;
static volatile uint64_t capture_tag;
static int capture_records;
static volatile int capture_stepping;

static size_t capture_stack(uint64_t sp, char *into) {
    size_t got = 0;
    while (got < DUMP) {
        size_t in_page = PAGE - (sp + got) % PAGE;
        size_t want = in_page < DUMP - got ? in_page : DUMP - got;
        struct iovec local = {into + got, want}, remote = {(void *)(sp + got), want};
        if (process_vm_readv(getpid(), &local, 1, &remote, 1, 0) != (ssize_t)want) break;
        got += want;
    }
    return got;
}

static void capture_trap(int signal, siginfo_t *info, void *context) {
    static const int dwarf_order[17] = {
        REG_RAX, REG_RDX, REG_RCX, REG_RBX, REG_RSI, REG_RDI, REG_RBP, REG_RSP, REG_R8,
        REG_R9,  REG_R10, REG_R11, REG_R12, REG_R13, REG_R14, REG_R15, REG_RIP};
    static char stack[DUMP];
    greg_t *gregs = ((ucontext_t *)context)->uc_mcontext.gregs;
    uint64_t head[19];
    (void)signal, (void)info;
    if (capture_stepping) gregs[REG_EFL] |= TRAP_FLAG;
    else gregs[REG_EFL] &= ~TRAP_FLAG;
    if (capture_records++ >= MOST_RECORDS) return;
    head[0] = capture_tag;
    for (int i = 0; i < 17; i++) head[1 + i] = gregs[dwarf_order[i]];
    head[18] = capture_stack(gregs[REG_RSP], stack);
    if (write(capture_fd, head, sizeof head) < 0 || write(capture_fd, stack, head[18]) < 0) _exit(9);
}

static void capture_finish(void) {
    char path[4096], buffer[65536];
    ssize_t n;
    snprintf(path, sizeof path, "%s.maps", capture_path);
    int in = open("/proc/self/maps", O_RDONLY), out = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0644);
    while ((n = read(in, buffer, sizeof buffer)) > 0)
        if (write(out, buffer, n) != n) _exit(9);
    close(in), close(out), close(capture_fd);
}

static void capture_start(const char *path) {
    struct sigaction action = {0};
    action.sa_sigaction = capture_trap;
    action.sa_flags = SA_SIGINFO;
    sigaction(SIGTRAP, &action, NULL);
    capture_path = path;
    capture_fd = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0644);
}

#define SNAP() __asm__ volatile("int3" ::: "memory")
/* The handler sets and clears the trap flag, so that the stepped function's frame stays as its
 * call frame information says. */
#define STEP(call)                                                                                 \
    do {                                                                                           \
        capture_stepping = 1;                                                                      \
        SNAP();                                                                                    \
        call;                                                                                      \
        capture_stepping = 0;                                                                      \
    } while (0)
