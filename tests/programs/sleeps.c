// Many short sleeps in one function, some longer ones in another, then a long one in a third: of one thread,
// in one state. Prints how long each function took.
#include <stdio.h>
#include <time.h>
#include <unistd.h>

static double now(void) {
  struct timespec time;
  clock_gettime(CLOCK_MONOTONIC_RAW, &time);
  return time.tv_sec + 1e-9 * time.tv_nsec;
}

__attribute__((noinline)) static void brief(void) {
  for (int i = 0; i < 1000; i++)
    usleep(100);
}

__attribute__((noinline)) static void some(void) {
  for (int i = 0; i < 60; i++)
    usleep(5000);
}

__attribute__((noinline)) static void once(void) {
  usleep(200000);
  __asm__ volatile("");
}

int main(void) {
  double begin = now();
  brief();
  double after_brief = now();
  some();
  double after_some = now();
  once();
  printf("%f %f %f\n", after_brief - begin, after_some - after_brief, now() - after_some);
  return 0;
}
