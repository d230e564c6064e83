// Races for variables of C++ that threads reach by references, lambdas and objects.
#include <cstdio>
#include <memory>
#include <thread>
#include <vector>

class Base {
protected:
    int asked_ = 0;
};

class Part : public Base {
    double weight_ = 0;

public:
    void ask() { asked_++; }
    void weigh(double by) { weight_ = by; }
};

struct Link {
    Link *next;
    long value;
};

class Adder {
    long &total_;

public:
    explicit Adder(long &total) : total_(total) {}
    void operator()(int by) { total_ += by; }
};

static void in_two(Link *link, double **rows) {
#pragma omp parallel num_threads(2)
    {
        link->next->value = 1;
        rows[1][2] = 4;
    }
}

template <class Function> static void run_two(Function function) {
    std::thread one(function), other(function);
    one.join();
    other.join();
}

int main() {
    int captured = 0;
    run_two([&] { captured++; });
    long total = 0;
    Adder adder(total);
    std::thread one(adder, 1), other(adder, 2);
    one.join();
    other.join();
    auto part = std::make_shared<Part>();
    run_two([part] {
        part->ask();
        part->weigh(2);
    });
    std::unique_ptr<Link> second(new Link{nullptr, 0});
    std::unique_ptr<Link> first(new Link{second.get(), 0});
    std::vector<double> rows[2] = {std::vector<double>(3), std::vector<double>(3)};
    double *pointers[2] = {rows[0].data(), rows[1].data()};
    in_two(first.get(), pointers);
    std::printf("%d %ld\n", captured, total);
}
