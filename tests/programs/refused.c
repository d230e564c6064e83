/* Regions that cannot be repeated: one reads its input, one forks a thread, one waits for another thread. */
#include <omp.h>
#include <pthread.h>
#include <stdio.h>
#include <unistd.h>

static char text[16];
static volatile int flag;

static void *nothing(void *argument)
{
  return argument;
}

int main(void)
{
#pragma omp parallel /* reads */
  {
#pragma omp single
    if (read(0, text, 5) != 5)
      text[0] = '?';
  }
#pragma omp parallel /* threads */
  {
#pragma omp single
    {
      pthread_t thread;
      if (pthread_create(&thread, 0, nothing, 0) == 0)
        pthread_join(thread, 0);
    }
  }
#pragma omp parallel num_threads(2) /* waits */
  {
    if (omp_get_thread_num() == 1)
      flag = 1;
    while (!flag)
      usleep(100);
  }
#pragma omp parallel num_threads(1) /* alone */
  text[6] = 1;
  printf("read %s\n", text);
  return 0;
}
