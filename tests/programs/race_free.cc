// Programs of C++ that look as if they raced, and do not.
#include <chrono>
#include <cstdio>
#include <thread>
#include <vector>

static int total;
static int values[1000];

// A compiler may read the sum before the loop, in each thread.
static void one_iteration_sums() {
#pragma omp parallel for
    for (int i = 0; i < 1000; i++) {
        values[i] += 1;
        if (i == 7)
            total += values[i];
    }
}

struct Table {
    std::vector<double> entries;
    Table() : entries(64) {
        // Others come and wait meanwhile.
        std::this_thread::sleep_for(std::chrono::milliseconds(50));
        for (int i = 0; i < 64; i++)
            entries[i] = i;
    }
};

static const Table &table() {
    static Table only;
    return only;
}

static void static_variables() {
    double sum = 0;
#pragma omp parallel for reduction(+ : sum)
    for (int i = 0; i < 64; i++)
        sum += table().entries[i];
    std::printf("%g\n", sum);
}

int main() {
    one_iteration_sums();
    static_variables();
}
