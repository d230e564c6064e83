/* Reads of memory that nothing has written: each line with a name in a comment holds one. Values are used,
   so that no compiler takes a read out. Locals escape: others are not seen. What a function finds that another
   one of the same caller has left is not looked at, unless the caller accesses memory in between. */
#include <alloca.h>
#include <omp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define APART __attribute__((noinline))

enum { N = 64 };

struct point { double x, y; int kind; };

static volatile double sink;
static int counter;
static double weights[N];
static int own, own_seed = 7;
#pragma omp threadprivate(own, own_seed)

APART void use(double value) { if (value != 0) sink = value; }
APART void one_but(double *a, int n, int left) { for (int i = 0; i < n; i++) if (i != left) a[i] = i; }
APART void nothing(void *p) { (void)p; __asm__ volatile("" : : "r"(p) : "memory"); }

APART void heap(void)
{
    double *a = malloc(N * sizeof *a), *b = malloc(N * sizeof *b);
    one_but(a, N, 9);
#pragma omp parallel for
    for (int i = 0; i < N; i++)
        b[i] = a[i] * 2; /* heap element */
    use(b[3]);
    free(a), free(b);
}

APART void never(void)
{
    float *all = malloc(N * sizeof *all);
#pragma omp parallel for
    for (int i = 0; i < N; i++)
        if (all[i] > 0) /* heap block */
            use(1);
    free(all);
}

APART void grown(void)
{
    int *g = malloc(16 * sizeof *g);
    for (int i = 0; i < 16; i++)
        g[i] = i;
    g = realloc(g, 4096 * sizeof *g);
    long sum = 0;
#pragma omp parallel for reduction(+ : sum)
    for (int i = 0; i < 4096; i++)
        sum += g[i]; /* realloc tail */
    use(sum);
    free(g);
}

APART void aligned(void)
{
    double *v = aligned_alloc(64, 512);
    void *w;
    if (posix_memalign(&w, 64, 512))
        return;
    one_but(v, 64, 5);
#pragma omp parallel
    {
#pragma omp single
        use(v[5]); /* aligned_alloc */
#pragma omp single
        use(((double *)w)[2]); /* posix_memalign */
    }
    free(v), free(w);
}

APART void fields(void)
{
    struct point *p = malloc(4 * sizeof *p);
    for (int i = 0; i < 4; i++)
        p[i].x = i, p[i].kind = i;
#pragma omp parallel for
    for (int i = 0; i < 4; i++)
        if (p[i].y > 1) /* field */
            use(p[i].x);
    free(p);
}

APART void half(void)
{
    int *h = malloc(8 * sizeof *h);
    for (int i = 0; i < 8; i += 2)
        h[i] = i;
#pragma omp parallel for
    for (int i = 0; i < 8; i++)
        if (h[i] < 0) /* half words */
            use(i);
    free(h);
}

APART void letters(void)
{
    char *s = malloc(100);
    strcpy(s, "some letters");
#pragma omp parallel
#pragma omp single
    if (s[20] == 'x') /* characters */
        use(1);
    free(s);
}

APART void moved(void)
{
    double *from = malloc(N * sizeof *from), *to = malloc(N * sizeof *to);
    one_but(from, N, 11);
    memcpy(to, from, N * sizeof *to);
#pragma omp parallel for
    for (int i = 0; i < N; i++)
        use(to[i]); /* copy of it */
    free(from), free(to);
}

APART void local(void)
{
    double tmp[N];
    one_but(tmp, N, 20);
#pragma omp parallel for
    for (int i = 0; i < N; i++)
        use(tmp[i]); /* shared local array */
}

APART void private_array(void)
{
    double mine[N];
    one_but(mine, N, -1);
#pragma omp parallel private(mine)
    {
        nothing(mine);
        one_but(mine, N, 30);
        use(mine[30]); /* private array */
    }
    use(mine[3]);
}

APART void in_region(void)
{
#pragma omp parallel
    {
        int block[32];
        nothing(block);
        use(block[omp_get_thread_num() & 7]); /* local of a region */
    }
}

APART void called(int n)
{
    double inner[16];
    nothing(inner);
    one_but(inner, 16, n);
    use(inner[n & 15]); /* local of a call */
}

APART void calls(void)
{
#pragma omp parallel
    called(3);
}

APART void scalar(void)
{
    int s;
    nothing(&s);
#pragma omp parallel
#pragma omp single
    {
        if (s == 12) /* escaped scalar */
            use(1);
    }
}

APART void task_private(void)
{
    double t[8];
    one_but(t, 8, -1);
#pragma omp parallel
#pragma omp single
    {
#pragma omp task private(t)
        {
            nothing(t);
            use(t[4]); /* private array of a task */
        }
#pragma omp task
        {
            long q[8];
            nothing(q);
            use(q[1]); /* local of a task */
        }
    }
}

APART void first_of_nothing(void)
{
    double f[8];
    nothing(f);
#pragma omp parallel firstprivate(f) /* firstprivate of nothing */
    use(f[2]); /* firstprivate of nothing */
}

APART void variable_length(int n)
{
#pragma omp parallel
    {
        double vla[n];
        nothing(vla);
        use(vla[n / 2]); /* array of variable length */
    }
}

APART void of_alloca(void)
{
#pragma omp parallel
    {
        double *al = alloca(256);
        nothing(al);
        use(al[7]); /* alloca */
    }
}

APART void last_one(int n)
{
    int kept = 1;
#pragma omp parallel for lastprivate(kept) /* lastprivate of nothing */
    for (int i = 0; i < n; i++) {
        nothing(&kept);
        if (i < 0)
            kept = i;
    } /* lastprivate of nothing */
    use(kept);
}

APART void globals(void)
{
#pragma omp parallel
    {
#pragma omp single
        if (counter > 0) /* global: initial value */
            use(1);
#pragma omp for
        for (int i = 0; i < N; i++)
            use(weights[i]); /* global array: initial value */
    }
    counter = 1;
    one_but(weights, N, -1);
}

APART void threadprivates(void)
{
    own = 5;
    own_seed = 9;
    int sum = 0;
#pragma omp parallel reduction(+ : sum)
    sum += own * own_seed; /* no copyin: initial value */
    use(sum);
}

int main(void)
{
    heap(); sink = 0;
    never(); sink = 0;
    grown(); sink = 0;
    aligned(); sink = 0;
    fields(); sink = 0;
    half(); sink = 0;
    letters(); sink = 0;
    moved(); sink = 0;
    local(); sink = 0;
    private_array(); sink = 0;
    in_region(); sink = 0;
    calls(); sink = 0;
    scalar(); sink = 0;
    task_private(); sink = 0;
    first_of_nothing(); sink = 0;
    variable_length(24); sink = 0;
    of_alloca(); sink = 0;
    last_one(40); sink = 0;
    globals(); sink = 0;
    threadprivates(); sink = 0;
    printf("%d %g\n", counter, weights[1]);
    return 0;
}
