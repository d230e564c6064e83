// Recursive tasks: far more instances than contexts.
#include <omp.h>
#include <stdio.h>

static int fib(int n) {
    if (n < 2)
        return n;
    int a, b;
#pragma omp task shared(a)
    a = fib(n - 1);
#pragma omp task shared(b)
    b = fib(n - 2);
#pragma omp taskwait
    return a + b;
}

int main(void) {
    int result;
#pragma omp parallel
#pragma omp single
    result = fib(16);
    printf("%d\n", result);
    return result != 987;
}
