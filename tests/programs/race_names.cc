// Races for variables of C++.
#include <cstdio>
#include <vector>

namespace space {
int counter;
struct Thing {
  static int total;
  int data[4];
  double *pointer;
  void work(int n) {
#pragma omp parallel for num_threads(2)
    for (int i = 0; i < n; i++) {
      pointer[3] = i;
      data[2] = i;
    }
  }
};
int Thing::total;
}

int main() {
  std::vector<double> numbers(100);
  int *array = new int[10];
  space::Thing thing;
  thing.pointer = new double[5];
  int target = 0;
  int &reference = target;
  int captured = 0;
#pragma omp parallel num_threads(2)
  {
    numbers[5] += 1;
    array[2] = 3;
    space::counter++;
    space::Thing::total++;
    reference = 1;
    auto function = [&]() { captured = 4; };
    function();
  }
  thing.work(100);
  std::printf("%g %d %d %d\n", numbers[5], array[2], target, captured);
}
