// Many short sleeps in one function, then a long one in another: of one thread, in one state. Prints how long
// each function took.
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

__attribute__((noinline)) static void once(void) {
  usleep(200000);
  __asm__ volatile("");
}

int main(void) {
  double begin = now();
  brief();
  double middle = now();
  once();
  printf("%f %f\n", middle - begin, now() - middle);
  return 0;
}
