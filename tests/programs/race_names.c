/* Races for variables of every kind, each with a name of its own. */
#include <omp.h>
#include <stdio.h>
#include <stdlib.h>

struct node {
  int value;
  struct node *next;
  double weights[4];
};

int counter;
double grid[8][16];
static struct node head;
double copies[10];
#pragma omp threadprivate(copies)
omp_lock_t locks[4];
int guarded, named;
int inner;
double field[20][20];
double norm;

static void work(double *in, int n) {
  static int calls;
  int local[32];
#pragma omp parallel num_threads(2)
  {
    calls++;
    local[5] = n;
    in[3] = 1;
  }
  printf("%d %d\n", calls, local[5]);
}

__attribute__((noinline)) static int teams(void) {
  int by_team = 0, by_thread = 0;
#pragma omp teams num_teams(2) thread_limit(2)
  {
    by_team++;
#pragma omp parallel num_threads(2)
    by_thread++;
  }
  return by_team + by_thread;
}

int main(int argc, char **argv) {
  int n = 10 * argc, sum = 0, array[32], matrix[3][4];
  struct node object = {0};
  int variable[n];
  double *heap = malloc(100 * sizeof *heap);
  struct node *one = calloc(1, sizeof *one);
  struct node *many = calloc(5, sizeof *many);
  double *other = malloc(800);
  double *copy = 0;
  (void)argv;
#pragma omp parallel num_threads(2)
  {
    counter++;
    sum += 1;
    array[5] = 1;
    matrix[2][1] = 1;
    object.weights[2] = 1;
    variable[3] = 1;
    heap[17] = 2;
    one->weights[1] = 3;
    many[2].value = 4;
    grid[3][4] = 5;
    head.weights[2] = 6;
#pragma omp barrier
#pragma omp master
    copy = &copies[3];
#pragma omp barrier
    *copy += 1;
  }
  work(other, n);
  n += teams();
  for (int k = 0; k < 4; k++)
    omp_init_lock(&locks[k]);
#pragma omp parallel num_threads(2)
  {
    int me = omp_get_thread_num();
    if (me) {
      omp_set_lock(&locks[2]);
      guarded = 1;
      omp_unset_lock(&locks[2]);
    } else {
      guarded = 2;
    }
#pragma omp barrier
    if (me) {
#pragma omp critical(first)
      named = 1;
    } else {
#pragma omp critical(second)
      named = 2;
    }
  }
#pragma omp parallel for num_threads(2)
  for (int i = 0; i < 20; i++)
    for (inner = 0; inner < 20; inner++)
      field[i][inner % 20] = 1;
#pragma omp parallel for num_threads(2)
  for (int i = 0; i < 20; i++)
    norm += field[i][i];
  int mine;
#pragma omp parallel for num_threads(2)
  for (int i = 0; i < 20; i++) {
    mine = 2 * i;
    field[i][0] = mine;
  }
#pragma omp parallel num_threads(2)
#pragma omp single
  {
    int result = 0;
#pragma omp task shared(result)
    result = 1;
    printf("%d\n", result);
#pragma omp taskwait // The variable lives until then.
  }
  printf("%d %d %d %g %d %d %g %d %d\n", counter, sum, array[5] + matrix[2][1], heap[17], guarded,
         named, norm, variable[3], (int)(object.weights[2] + head.weights[2]));
  return 0;
}
