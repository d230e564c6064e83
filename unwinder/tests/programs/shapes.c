/* Shapes of frames, one by name: shapes OUT SHAPE. Every shape is called from `main`. */
#include "capture.h"

#include <alloca.h>
#include <math.h>
#include <pthread.h>
#include <stdalign.h>
#include <time.h>

#define NOINLINE __attribute__((noinline, noipa))

static volatile double sink;
static volatile int two = 2;

NOINLINE static void snap_here(void) {
    SNAP();
    sink += 1;
}

/* Realigned: the frame's CFA is an expression that reads memory. */
NOINLINE static double realigned_inner(int n) {
    alignas(64) double block[16];
    char *extra = alloca(n * 16);
    memset(extra, n, n * 16);
    for (int i = 0; i < 16; i++) block[i] = i * n;
    snap_here();
    return block[n] + extra[n];
}

NOINLINE static double realigned_outer(int n) {
    alignas(64) double block[32];
    char *extra = alloca(n * 32);
    memset(extra, n, n * 32);
    for (int i = 0; i < 32; i++) block[i] = i + realigned_inner(n);
    return block[n] + extra[n];
}

/* The loop over local arrays is vectorised, and with AVX the arrays are aligned to 32. */
NOINLINE static double vectors(int n) {
    double a[64], b[64];
    for (int i = 0; i < 64; i++) a[i] = i * n, b[i] = i + n;
    for (int i = 0; i < 64; i++) a[i] = a[i] * b[i] + a[i];
    snap_here();
    double sum = 0;
    for (int i = 0; i < 64; i++) sum += a[i];
    return sum;
}

NOINLINE static int deep(int n) {
    if (n == 0) {
        snap_here();
        return 1;
    }
    return deep(n - 1) + two;
}

static void on_signal(int signal) {
    (void)signal;
    snap_here();
    sink += 1;
}

NOINLINE static void interrupted(int flags) {
    static char other_stack[65536];
    stack_t stack = {.ss_sp = other_stack, .ss_size = sizeof other_stack};
    struct sigaction action = {0};
    sigaltstack(&stack, NULL);
    action.sa_handler = on_signal;
    action.sa_flags = flags;
    sigaction(SIGUSR1, &action, NULL);
    raise(SIGUSR1);
    sink += 1;
}

static int compare(const void *a, const void *b) {
    snap_here();
    return *(const int *)a - *(const int *)b;
}

NOINLINE static void sorted(void) {
    int numbers[5] = {4, 1, 3, 2, 0};
    qsort(numbers, 5, sizeof *numbers, compare);
    sink += numbers[0];
}

NOINLINE static void thread_work(int n) {
    sink += realigned_inner(n);
}

static void *thread_main(void *argument) {
    STEP(thread_work(two));
    return argument;
}

NOINLINE static void threaded(void) {
    pthread_t thread;
    pthread_create(&thread, NULL, thread_main, NULL);
    pthread_join(thread, NULL);
}

/* Hand-written code without call frame information: a leaf, one with a frame pointer, one that
 * uses the frame pointer for its own ends, as kernels of linear algebra do, and calls one that
 * pushes, and one that hides its return address. */
void asm_leaf(void), asm_framed(void), asm_kernel(void), asm_opaque(void);
__asm__(".text\n"
        ".type asm_leaf,@function\nasm_leaf: nop\nint3\nret\n.size asm_leaf,.-asm_leaf\n"
        ".type asm_framed,@function\nasm_framed: push %rbp\nmov %rsp,%rbp\nsub $64,%rsp\n"
        "movq $0,(%rsp)\nint3\nleave\nret\n.size asm_framed,.-asm_framed\n"
        ".type asm_pushing,@function\nasm_pushing: push %rbx\npush %rbp\nmov $3,%ebp\n"
        "sub $24,%rsp\nmovq $0,(%rsp)\nint3\nadd $24,%rsp\npop %rbp\npop %rbx\nret\n"
        ".size asm_pushing,.-asm_pushing\n"
        ".type asm_kernel,@function\nasm_kernel: sub $72,%rsp\nmov %rbx,(%rsp)\n"
        "mov %rbp,8(%rsp)\nxor %ebp,%ebp\ntest %eax,%eax\njne 1f\nnop\n1: call asm_pushing\n"
        "int3\nmov 8(%rsp),%rbp\nmov (%rsp),%rbx\nadd $72,%rsp\nret\n"
        ".size asm_kernel,.-asm_kernel\n"
        ".type asm_opaque,@function\nasm_opaque: push %rbp\nxor %ebp,%ebp\nmov $64,%eax\n"
        "sub %rax,%rsp\nmovq $0,(%rsp)\nint3\nadd $64,%rsp\npop %rbp\nret\n"
        ".size asm_opaque,.-asm_opaque\n");

/* Functions without an instruction leave empty entries of call frame information in front. */
void after_empty(void);
__asm__(".text\n"
        "empty_one: .cfi_startproc\n.cfi_endproc\n"
        "empty_two: .cfi_startproc\n.cfi_endproc\n"
        ".type after_empty,@function\nafter_empty: .cfi_startproc\nsub $24,%rsp\n"
        ".cfi_adjust_cfa_offset 24\nmovq $0,(%rsp)\nint3\nadd $24,%rsp\n"
        ".cfi_adjust_cfa_offset -24\nret\n.cfi_endproc\n.size after_empty,.-after_empty\n");

NOINLINE static void clocks(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    sink += now.tv_nsec;
}

NOINLINE static void library_calls(void) {
    sink += atoi("17");
    sink += lrint(exp(two));
}

NOINLINE static void smashed(void) {
    /* The return address of the caller's frame is overwritten, then put back. */
    volatile uint64_t *slot = __builtin_frame_address(0);
    uint64_t saved[2] = {slot[0], slot[1]};
    slot[0] = 8, slot[1] = 0x1234;
    SNAP();
    slot[0] = saved[0], slot[1] = saved[1];
}

int main(int argc, char **argv) {
    if (argc < 3) return 2;
    const char *shape = argv[2];
    capture_start(argv[1]);
    capture_tag = 1;
    snap_here();
    capture_tag = 2;
    if (!strcmp(shape, "realigned")) STEP(sink += realigned_outer(two));
    else if (!strcmp(shape, "vectors")) STEP(sink += vectors(two));
    else if (!strcmp(shape, "shallow")) STEP(sink += deep(40));
    else if (!strcmp(shape, "deep")) sink += deep(5000);
    else if (!strcmp(shape, "signal")) STEP(interrupted(0));
    else if (!strcmp(shape, "altstack")) interrupted(SA_ONSTACK);
    else if (!strcmp(shape, "qsort")) STEP(sorted());
    else if (!strcmp(shape, "thread")) threaded();
    else if (!strcmp(shape, "asm_leaf")) asm_leaf();
    else if (!strcmp(shape, "asm_framed")) asm_framed();
    else if (!strcmp(shape, "asm_kernel")) asm_kernel();
    else if (!strcmp(shape, "asm_opaque")) asm_opaque();
    else if (!strcmp(shape, "after_empty")) after_empty();
    else if (!strcmp(shape, "clocks")) STEP(clocks());
    else if (!strcmp(shape, "library")) STEP(library_calls());
    else if (!strcmp(shape, "smashed")) smashed();
    else return 3;
    capture_finish();
    return 0;
}
