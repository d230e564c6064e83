// Handles signals on an alternate stack that has room for the frame of one signal and its handler's, and
// not for those of two.
#define _GNU_SOURCE
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/time.h>
#include <time.h>

static volatile sig_atomic_t handled;
static volatile double sum;

static double seconds(clockid_t clock)
{
    struct timespec time;
    clock_gettime(clock, &time);
    return time.tv_sec + time.tv_nsec / 1e9;
}

static void handler(int number)
{
    char local[512];
    memset(local, number, sizeof local);
    for (double end = seconds(CLOCK_THREAD_CPUTIME_ID) + 0.002; seconds(CLOCK_THREAD_CPUTIME_ID) < end;)
        sum += local[7];
    handled++;
}

int main(void)
{
    size_t frame = getauxval(AT_MINSIGSTKSZ);
    size_t size = (frame ? frame : MINSIGSTKSZ) + 1024;
    stack_t stack = {.ss_size = size};
    // Whatever lies before the stack must not be harmed.
    char *memory = malloc(size + 65536);
    memset(memory, 0x5a, 65536);
    stack.ss_sp = memory + 65536;
    struct sigaction action = {.sa_handler = handler, .sa_flags = SA_ONSTACK | SA_RESTART};
    sigemptyset(&action.sa_mask);
    if (sigaltstack(&stack, NULL) || sigaction(SIGALRM, &action, NULL))
        return 1;
    struct sigaction set;
    sigaction(SIGALRM, NULL, &set);
    struct itimerval each = {{0, 5000}, {0, 5000}};
    setitimer(ITIMER_REAL, &each, NULL);
    for (double end = seconds(CLOCK_PROCESS_CPUTIME_ID) + 1; seconds(CLOCK_PROCESS_CPUTIME_ID) < end;)
        for (int i = 0; i < 1000; i++)
            sum += i;
    struct itimerval none = {{0, 0}, {0, 0}};
    setitimer(ITIMER_REAL, &none, NULL);
    int harmed = 0;
    for (int i = 0; i < 65536; i++)
        harmed += memory[i] != 0x5a;
    printf("%s, %d bytes harmed, urgent %d\n", handled > 20 ? "handled" : "not handled", harmed,
           sigismember(&set.sa_mask, SIGURG));
    return 0;
}
