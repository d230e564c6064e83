// Many short sleeps in one function, some longer ones in another, then a long one in a third: of one thread,
// in one state. Prints how long each function took, and how long the thread waited for a CPU.
#include <stdio.h>
#include <time.h>
#include <unistd.h>

static double now(void) {
  struct timespec time;
  clock_gettime(CLOCK_MONOTONIC_RAW, &time);
  return time.tv_sec + 1e-9 * time.tv_nsec;
}

__attribute__((noinline)) static void brief(void) {
  for (int i = 0; i < 500; i++)
    usleep(100);
}

__attribute__((noinline)) static void some(void) {
  for (int i = 0; i < 100; i++)
    usleep(5000);
}

__attribute__((noinline)) static void once(void) {
  usleep(200000);
  __asm__ volatile("");
}

/* By the kernel's account (schedstat of proc(5)). */
static double delay(void) {
  unsigned long long ran = 0, waited = 0;
  FILE *file = fopen("/proc/self/schedstat", "r");
  if (file && fscanf(file, "%llu %llu", &ran, &waited) != 2)
    waited = 0;
  return 1e-9 * waited;
}

int main(void) {
  double begin = now();
  brief();
  double after_brief = now();
  some();
  double after_some = now();
  once();
  double end = now();
  printf("%f %f %f %f\n", after_brief - begin, after_some - after_brief, end - after_some, delay());
  return 0;
}
