/* Limits its own address space to 400 MB. Says what it still gets: memory, threads, a process, a shell; and the
   limit as it reads it. */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

static void *use(void *unused) {
    char *memory = malloc(1 << 20);
    if (memory)
        memset(memory, 1, 1 << 20);
    free(memory);
    return unused;
}

int main(void) {
    struct rlimit limit = {400ul << 20, 400ul << 20};
    int threads = 0, sum = 0;
    setrlimit(RLIMIT_AS, &limit);
    void *some = malloc(50 << 20), *much = malloc(500 << 20);
    for (int i = 0; i < 5; i++) {
        pthread_t thread;
        if (pthread_create(&thread, NULL, use, NULL) == 0 && pthread_join(thread, NULL) == 0)
            threads++;
    }
#pragma omp parallel num_threads(3) reduction(+ : sum)
    sum++;
    pid_t child = fork();
    if (child == 0)
        _exit(2);
    int status = 0;
    waitpid(child, &status, 0);
    FILE *shell = popen("echo shell", "r");
    char word[16] = "";
    if (!shell || !fgets(word, sizeof word, shell))
        strcpy(word, "none\n");
    getrlimit(RLIMIT_AS, &limit);
    printf("%d %d %d %d %d %lu %s", some != NULL, much != NULL, threads, sum, WEXITSTATUS(status),
           (unsigned long)limit.rlim_cur >> 20, word);
    return 3;
}
