// Readers of one lock have no order, whoever gives it back first.
#include <chrono>
#include <cstdio>
#include <shared_mutex>
#include <thread>

static std::shared_mutex lock;
static long hits;

static long read() {
    std::shared_lock<std::shared_mutex> guard(lock);
    return ++hits;
}

int main() {
    std::thread one([] { read(); });
    // The other one comes later.
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
    std::thread other([] { read(); });
    one.join();
    other.join();
    std::printf("%ld\n", hits);
}
