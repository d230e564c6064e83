/* A function within another one (GNU C), with a construct within a construct. */
void use(int);

void outer(int n)
{
    __attribute__((noinline)) void Inner(int more)
    {
        #pragma omp parallel
        {
            use(n);
            #pragma omp task
            use(more);
        }
    }
    Inner(1);
    Inner(2);
    #pragma omp parallel
    use(n + 1);
}
