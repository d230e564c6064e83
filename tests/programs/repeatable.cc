// A right program that is hard to repeat: output, blocks and exceptions within regions, threads' own memory.
#include <cstdio>
#include <cstdlib>
#include <iostream>
#include <stdexcept>
#include <vector>

#include <omp.h>

struct Node {
  Node *next;
  int value;
};

static Node *nodes[1000];
static double sums[64];
static int team;
static int own;
#pragma omp threadprivate(own)

static int checked(int i) {
  if (i % 100 == 7)
    throw std::runtime_error("seven");
  return i;
}

int main() {
  std::vector<double> values(5000, 1.0);
  double total = 0;
  long caught = 0;
  for (int step = 0; step < 4; step++) {
#pragma omp parallel
    {
#pragma omp single
      std::printf("step %d\n", step);
#pragma omp master
      team = omp_get_num_threads();
      int thread = omp_get_thread_num();
      sums[thread] = 0;
      own++;
#pragma omp for
      for (int i = 0; i < 5000; i++)
        sums[thread] += values[i];
    }
#pragma omp parallel for
    for (int i = 0; i < 1000; i++) {
      nodes[i] = new Node{nullptr, i};
      nodes[i]->next = nodes[i];
      std::vector<int> scratch(i % 50);
    }
#pragma omp parallel for reduction(+ : total, caught)
    for (int i = 0; i < 1000; i++) {
      try {
        total += checked(i) * 0.1;
      } catch (const std::exception &) {
        caught++;
      }
    }
#pragma omp parallel for
    for (int i = 0; i < 1000; i++) {
      delete nodes[i];
      nodes[i] = nullptr;
    }
#pragma omp parallel
#pragma omp single
    for (int i = 0; i < 10; i++)
#pragma omp task
    {
#pragma omp critical
      std::cout << "";
    }
  }
  std::cout << "total " << (long)(total + 0.5) << " caught " << caught << " team " << (team > 0) << std::endl;
  return 3;
}
