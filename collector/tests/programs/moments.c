/* Makes 10,000 threads, four at a time, which end at once. */
#include <pthread.h>
#include <stdlib.h>

enum { ROUNDS = 2500, THREADS = 4 };

static void *run(void *argument)
{
    return argument;
}

int main(void)
{
    for (int round = 0; round < ROUNDS; round++) {
        pthread_t threads[THREADS];
        for (int i = 0; i < THREADS; i++)
            if (pthread_create(&threads[i], NULL, run, NULL))
                abort();
        for (int i = 0; i < THREADS; i++)
            pthread_join(threads[i], NULL);
    }
    return 0;
}
