// Threads of the program and of the runtime that fork.
#include <pthread.h>
#include <stddef.h>

void runtime_start(void);
void runtime_announce(void);
void runtime_fork(void);
void runtime_make_helpers(int announced);

static void *own(void *unused)
{
    runtime_announce();
    runtime_fork();
    return unused;
}

int main(void)
{
    runtime_start();
    runtime_announce();
    runtime_fork();
    pthread_t thread;
    pthread_create(&thread, NULL, own, NULL);
    pthread_join(thread, NULL);
    runtime_make_helpers(0);
    runtime_make_helpers(1);
}
