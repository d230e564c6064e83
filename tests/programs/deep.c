// Works at the end of a recursion of that depth.
#include <stdio.h>
#include <stdlib.h>

static volatile long sink;

__attribute__((noinline)) static void work(long n) {
  for (long i = 0; i < n; i++) sink += i;
}

__attribute__((noinline)) static long down(long depth, long n) {
  volatile long keep = depth;
  if (depth == 0) {
    work(n);
    return keep;
  }
  long below = down(depth - 1, n) + 1;
  return below + keep;
}

int main(int count, char **words) {
  long depth = atol(words[1]), n = atol(words[2]);
  printf("%ld\n", down(depth, n));
  return 0;
}
