// What a program may notice of signals that are not its own. Each part prints what it counts.
#define _GNU_SOURCE
#include <errno.h>
#include <limits.h>
#include <poll.h>
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static void burn(long us) {
  struct timespec begin, now;
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &begin);
  do
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  while ((now.tv_sec - begin.tv_sec) * 1000000 + (now.tv_nsec - begin.tv_nsec) / 1000 < us);
}

static int interrupted(void) {
  int count = 0;
  sem_t sem;
  sem_init(&sem, 0, 0);
  for (int i = 0; i < 300; i++) {
    struct timespec short_time = {0, 20000}, end;
    burn(1500);
    count += nanosleep(&short_time, NULL) == -1 && errno == EINTR;
    burn(100);
    count += poll(NULL, 0, 1) == -1 && errno == EINTR;
    clock_gettime(CLOCK_REALTIME, &end);
    end.tv_nsec += 50000;
    if (end.tv_nsec >= 1000000000) end.tv_sec++, end.tv_nsec -= 1000000000;
    count += sem_timedwait(&sem, &end) == -1 && errno == EINTR;
  }
  return count;
}

static volatile sig_atomic_t own;
static void with_info(int number, siginfo_t *info, void *context) { own += info->si_pid == getpid(); }
static void plain(int number) { own++; }

static int own_handler(void) {
  struct sigaction action = {.sa_sigaction = with_info, .sa_flags = SA_SIGINFO}, old;
  sigaction(SIGURG, &action, NULL);
  for (int i = 0; i < 50; i++) burn(1000), kill(getpid(), SIGURG);
  sigaction(SIGURG, NULL, &old);
  int is_kept = old.sa_sigaction == with_info && (old.sa_flags & SA_SIGINFO);
  int before = signal(SIGURG, plain) == (void (*)(int))with_info;
  for (int i = 0; i < 50; i++) burn(1000), raise(SIGURG);
  int after = signal(SIGURG, SIG_IGN) == plain;
  for (int i = 0; i < 50; i++) burn(1000), raise(SIGURG);
  return own * 1000 + is_kept * 100 + before * 10 + after;
}

static void *waits_for_any(void *count) {
  sigset_t all;
  sigfillset(&all);
  pthread_sigmask(SIG_BLOCK, &all, NULL);
  for (int i = 0; i < 100; i++) {
    struct timespec short_time = {0, 100000};
    burn(2000);
    *(int *)count += sigtimedwait(&all, NULL, &short_time) > 0;
  }
  return NULL;
}

static void *small(void *count) {
  burn(5000);
  __sync_fetch_and_add((int *)count, 1);
  return NULL;
}

static int threads(void *(*function)(void *), size_t stack, int number) {
  int count = 0;
  pthread_t ids[64];
  pthread_attr_t attributes;
  pthread_attr_init(&attributes);
  if (stack) pthread_attr_setstacksize(&attributes, stack);
  for (int i = 0; i < number; i++) pthread_create(&ids[i], &attributes, function, &count);
  for (int i = 0; i < number; i++) pthread_join(ids[i], NULL);
  return count;
}

static int children(void) {
  int status, good = 0;
  for (int i = 0; i < 20; i++) {
    pid_t child = fork();
    if (child == 0) burn(10000), _exit(i);
    waitpid(child, &status, 0);
    good += WIFEXITED(status) && WEXITSTATUS(status) == i;
  }
  return good;
}

int main(int count, char **words) {
  int left = count > 1 ? atoi(words[1]) : 0;
  burn(10000);
  if (left > 0) {
    char next[16];
    sigset_t all;
    sigfillset(&all);
    // The mask and pending signals outlive exec.
    sigprocmask(left % 2 ? SIG_BLOCK : SIG_UNBLOCK, &all, NULL);
    snprintf(next, sizeof next, "%d", left - 1);
    execl("/proc/self/exe", words[0], next, NULL);
    return 1;
  }
  sigset_t all;
  sigfillset(&all);
  sigprocmask(SIG_UNBLOCK, &all, NULL);
  printf("interrupted %d\n", interrupted());
  printf("own %d\n", own_handler());
  printf("any %d\n", threads(waits_for_any, 0, 2));
  printf("small %d\n", threads(small, PTHREAD_STACK_MIN, 64));
  printf("children %d\n", children());
  return 7;
}
