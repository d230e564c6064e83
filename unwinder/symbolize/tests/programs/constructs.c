/* A body of each kind of construct. */

double x[8];
void work(int n);

void regions(int n)
{
#pragma omp parallel
    { work(n); x[0] += 1; }
}

static inline void tasks(int n)
{
#pragma omp task firstprivate(n)
    { work(n); x[1] += 1; }
}

void twice(int n)
{
    tasks(n);
    tasks(n + 1);
}

void targets(int n)
{
#pragma omp target map(tofrom : x)
    { work(n); x[2] += 1; }
}

void combined(int n)
{
#pragma omp target parallel for map(tofrom : x)
    for (int i = 0; i < 8; i++)
        x[i] += n;
}

extern int more(void);

/* The body's address stays in a register. */
void repeated(void)
{
    while (more())
#pragma omp target map(tofrom : x)
        x[3]++;
}
