// A library with a parallel region, for Python.
#include <math.h>

double work(long n)
{
    double s = 0;
#pragma omp parallel for reduction(+ : s)
    for (long i = 0; i < n; i++)
        s += sqrt(i * 0.5); // the body
    return s;
}
