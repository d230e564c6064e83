/* Programs that look as if they read what nothing has written, and do not. */
#define _GNU_SOURCE
#include <alloca.h>
#include <math.h>
#include <omp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define APART __attribute__((noinline))

enum { N = 1000 };

struct point { char name; double x; int kind; };
struct small { char a; int b; };

static volatile double sink;
static double values[N];
static int own = 3, own_zero;
static double own_array[40];
#pragma omp threadprivate(own, own_zero, own_array)

APART void use(double value) { if (value != 0) sink = value; }
APART void set(double *a, int n) { for (int i = 0; i < n; i++) a[i] = i; }
APART double sum_of(const double *a, int n) { double s = 0; for (int i = 0; i < n; i++) s += a[i]; return s; }

APART void passes(void)
{
    double first[32], last[32], copies[32], kept = 0;
    long total = 0;
    double parts[16];
    set(first, 32), set(copies, 32);
    memset(parts, 0, sizeof parts);
#pragma omp parallel for firstprivate(first) lastprivate(last, kept) reduction(+ : total, parts)
    for (int i = 0; i < N; i++) {
        set(last, 32);
        kept = i;
        total += (long)sum_of(first, 32);
        parts[i % 16] += i;
    }
    use(sum_of(last, 32) + kept + total + sum_of(parts, 16));
    own = 11;
    set(own_array, 40);
#pragma omp parallel copyin(own, own_array)
    use(own + own_zero + sum_of(own_array, 40));
    double one[8];
    int scalar;
#pragma omp parallel private(one, scalar)
    {
#pragma omp single copyprivate(one, scalar)
        {
            set(one, 8);
            scalar = 4;
        }
        use(sum_of(one, 8) + scalar);
    }
}

APART void tasks(void)
{
#pragma omp parallel
#pragma omp single
    {
        double given[64];
        set(given, 64);
        for (int i = 0; i < 40; i++) {
#pragma omp task firstprivate(given, i)
            use(sum_of(given, 64) + i);
        }
#pragma omp taskloop firstprivate(given)
        for (int i = 0; i < 200; i++)
            use(given[i % 64]);
#pragma omp taskwait
    }
}

APART void structures(void)
{
    struct point p[4], *q = malloc(sizeof p);
    for (int i = 0; i < 4; i++)
        p[i].name = 'a', p[i].x = i;
#pragma omp parallel for
    for (int i = 0; i < 4; i++)
        q[i] = p[i];
    for (int i = 0; i < 4; i++)
        use(q[i].x + q[i].name);
    struct small s = {.a = 'x'}, *t = malloc(sizeof *t);
    *t = s;
    use(t->b + t->a);
    free(q), free(t);
}

static int order(const void *one, const void *other)
{
    double a = *(const double *)one, b = *(const double *)other;
    return (a > b) - (a < b);
}

APART int by(int a, int b, int c, int d, int e, int f, int g, int *where) { *where = a + b + c + d + e + f + g; return *where; }
APART void parameters(int a, double b) { int *p = &a; double *q = &b; use(*p + *q); }

APART void libraries(void)
{
    double *sorted = malloc(300 * sizeof *sorted), *raw = malloc(4096);
    for (int i = 0; i < 300; i++)
        sorted[i] = (i * 7919) % 300;
    qsort(sorted, 300, sizeof *sorted, order);
    use(sorted[3]);
    char name[] = "/tmp/initialised-XXXXXX";
    int fd = mkstemp(name);
    static char zeros[4096];
    if (write(fd, zeros, 2048) != 2048 || write(fd, sorted, 2000) != 2000)
        exit(1);
    lseek(fd, 0, SEEK_SET);
    if (read(fd, raw, 4000) != 4000)
        exit(1);
    use(sum_of(raw, 500));
    lseek(fd, 0, SEEK_SET);
    FILE *file = fdopen(fd, "r");
    double *again = malloc(4000), scanned;
    if (fread(again, 1, 4000, file) != 4000)
        exit(1);
    use(sum_of(again, 500));
    fclose(file);
    unlink(name);
    int number;
    char word[32];
    if (sscanf("12 abc 2.5", "%d %31s %lf", &number, word, &scanned) != 3)
        exit(1);
    use(number + word[1] + scanned);
    double sine, cosine;
    sincos(1.0, &sine, &cosine);
    use(sine + cosine);
    int exponent;
    use(frexp(10.0, &exponent) + exponent);
    char *text = strdup("text"), line[200];
    snprintf(line, sizeof line, "%s %d", text, number);
    use(line[2] + text[1] + (double)strlen(line));
    free(text), free(sorted), free(raw), free(again);
}

APART void zeroes(int n)
{
#pragma omp parallel
    {
        double local[64], *heap = malloc(512), *cleared = calloc(64, 8);
        double vla[n], *al = alloca(512);
        memset(local, 0, sizeof local);
        memset(heap, 0, 512);
        memset(vla, 0, n * sizeof *vla);
        memset(al, 0, 512);
        use(sum_of(local, 64) + sum_of(heap, 64) + sum_of(cleared, 64) + sum_of(vla, n) + sum_of(al, 64));
        int small[4] = {0};
        use(by(1, 2, 3, 4, 5, 6, 7, small) + small[3]);
        heap = realloc(heap, 4096);
        set(heap + 64, 448);
        use(sum_of(heap, 512));
        free(heap), free(cleared);
    }
}

APART int recursive(int depth)
{
    int here[8];
    for (int i = 0; i < 8; i++)
        here[i] = depth + i;
    int below = depth ? recursive(depth - 1) : 0;
    int all = below;
    for (int i = 0; i < 8; i++)
        all += here[i];
    return all;
}

int main(void)
{
    set(values, N);
    passes();
    tasks();
    structures();
    libraries();
    zeroes(50);
    parameters(3, 2.0);
    double total = 0;
#pragma omp parallel for reduction(+ : total) schedule(dynamic, 7)
    for (int i = 0; i < N; i++)
        total += values[i] + recursive(i % 20);
    printf("%g\n", total);
    return 0;
}
