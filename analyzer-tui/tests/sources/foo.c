#include <omp.h>

void bar(void)
{   busy(600);
#pragma omp task
    busy(200);
}
void foo(void)
{   #pragma omp parallel
    {
        busy(600);
    }
}

int rest;

int main(void)
{
    setup();
    busy(500);
    foo();
}
