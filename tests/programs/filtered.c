/* A filter of system calls that ends the process at any call that the program does not make itself. Words:
   "late": a region comes before it. */
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <omp.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

static double work(int units) {
    volatile double value = 1;
    for (int k = 0; k < units; k++)
        for (int i = 0; i < 400000; i++) value = value * 0.999 + 0.001;
    return value;
}

static double region(int units, int threads) {
    double sum = 0;
#pragma omp parallel num_threads(threads) reduction(+ : sum)
    sum += work(units);
    return sum;
}

int main(int count, char **words) {
    int permitted[] = {
        SYS_read, SYS_write, SYS_mmap, SYS_mprotect, SYS_munmap, SYS_brk, SYS_clone, SYS_clone3, SYS_futex,
        SYS_sched_yield, SYS_exit, SYS_exit_group, SYS_rt_sigprocmask, SYS_rt_sigaction, SYS_set_robust_list,
        SYS_rseq, SYS_clock_gettime, SYS_madvise, SYS_gettid, SYS_getpid, SYS_sched_getaffinity,
        SYS_newfstatat, SYS_fstat, SYS_getrandom, SYS_rt_sigreturn, SYS_tgkill};
    double sum = count > 1 && !strcmp(words[1], "late") ? region(10, 2) : 0;
    struct sock_filter filter[80];
    int used = 0, calls = sizeof permitted / sizeof *permitted;
    filter[used++] =
        (struct sock_filter)BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr));
    for (int i = 0; i < calls; i++)
        filter[used++] =
            (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, permitted[i], calls - i, 0);
    filter[used++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS);
    filter[used++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW);
    struct sock_fprog program = {used, filter};
    prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
    if (count > 2 ? syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, &program)
                  : prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program)) {
        perror("seccomp");
        return 2;
    }
    sum += region(100, 3);
    printf("%d\n", sum > 0);
    return 3;
}
