// Three stages in a region, joined by queues with condition variables.
#include <condition_variable>
#include <cstdio>
#include <deque>
#include <memory>
#include <mutex>
extern "C" int omp_get_thread_num();
template <class T> class Channel {
    std::mutex m; std::condition_variable filled, emptied; std::deque<T> items; bool closed = false;
public:
    void put(T item) { std::unique_lock<std::mutex> l(m); emptied.wait(l, [&] { return items.size() < 4; }); items.push_back(std::move(item)); filled.notify_one(); }
    bool get(T &item) { std::unique_lock<std::mutex> l(m); filled.wait(l, [&] { return !items.empty() || closed; }); if (items.empty()) return false; item = std::move(items.front()); items.pop_front(); emptied.notify_one(); return true; }
    void close() { std::lock_guard<std::mutex> l(m); closed = true; filled.notify_all(); }
};
int main()
{
    Channel<std::unique_ptr<double[]>> first, second;
    double total = 0;
#pragma omp parallel num_threads(3)
    switch (omp_get_thread_num()) {
    case 0:
        for (int i = 0; i < 60; i++) { std::unique_ptr<double[]> block(new double[16]); for (int k = 0; k < 16; k++) block[k] = i + k; first.put(std::move(block)); }
        first.close();
        break;
    case 1: {
        std::unique_ptr<double[]> block;
        while (first.get(block)) { for (int k = 0; k < 16; k++) block[k] *= 2; second.put(std::move(block)); }
        second.close();
        break;
    }
    default: {
        std::unique_ptr<double[]> block;
        while (second.get(block)) for (int k = 0; k < 16; k++) total += block[k];
    }
    }
    std::printf("%g\n", total);
}
