// A Treiber stack with tags, of nodes in an array.
#include <atomic>
#include <cstdint>
#include <cstdio>
struct Node { std::atomic<uint32_t> next; int value; };
static Node nodes[512];
static std::atomic<uint64_t> top{0};
static void push(uint32_t node)
{
    uint64_t old = top.load(std::memory_order_relaxed), fresh;
    do {
        nodes[node].next.store(uint32_t(old), std::memory_order_relaxed);
        fresh = ((old >> 32) + 1) << 32 | node;
    } while (!top.compare_exchange_weak(old, fresh, std::memory_order_release, std::memory_order_relaxed));
}
static uint32_t pop()
{
    uint64_t old = top.load(std::memory_order_acquire), fresh;
    do {
        if (!uint32_t(old)) return 0;
        fresh = ((old >> 32) + 1) << 32 | nodes[uint32_t(old)].next.load(std::memory_order_relaxed);
    } while (!top.compare_exchange_weak(old, fresh, std::memory_order_acq_rel, std::memory_order_acquire));
    return uint32_t(old);
}
int main()
{
    long sum = 0;
#pragma omp parallel num_threads(4) reduction(+ : sum)
    {
#pragma omp for nowait
        for (uint32_t i = 1; i < 512; i++) {
            nodes[i].value = int(i);
            push(i);
        }
        while (uint32_t node = pop()) {
            sum += nodes[node].value;
            nodes[node].value = 0;
        }
    }
    while (uint32_t node = pop()) sum += nodes[node].value;
    std::printf("%ld\n", sum);
}
