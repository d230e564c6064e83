/* Threads race for a sum, and the program aborts at once. */
#include <stdlib.h>

int main(void)
{
    long sum = 0;
#pragma omp parallel
    sum = sum + 1;
    abort();
}
