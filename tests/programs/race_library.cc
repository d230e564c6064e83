// A race within the C++ library.
#include <cstdio>
#include <map>

static std::map<int, int> counts;

int main() {
#pragma omp parallel for schedule(dynamic) num_threads(2)
    for (int i = 0; i < 8; i++)
        counts[i % 2]++;
    std::printf("%zu\n", counts.size());
}
