// Tasks whose data is copied in every way that compilers have, and taskloops.
#include <cstdio>
#include <cstring>
#include <omp.h>

namespace {

int failures;
int copies, deaths;

void expect(const char *what, long value, long wanted) {
    if (value != wanted) {
        std::printf("%s is %ld and not %ld\n", what, value, wanted);
        failures = 1;
    }
}

// Copied by a function that the compiler makes, at an address that it chooses.
struct alignas(128) Careful {
    long value = 1;
    Careful *self = this;
    Careful() = default;
    Careful(const Careful &other) : value(other.value), self(this) {
#pragma omp atomic
        copies++;
    }
    ~Careful() {
#pragma omp atomic
        deaths++;
    }
    bool good() const {
        return self == this && reinterpret_cast<unsigned long>(this) % 128 == 0;
    }
};

template <int N> struct Bytes {
    unsigned char at[N];
    explicit Bytes(int seed) {
        for (int i = 0; i < N; i++)
            at[i] = static_cast<unsigned char>(seed + i * 7);
    }
    long sum() const {
        long total = 0;
        for (int i = 0; i < N; i++)
            total += at[i];
        return total;
    }
};

template <int N> void sized(bool deferred) {
    Bytes<N> bytes(N);
    long wanted = bytes.sum(), found = 0;
#pragma omp task firstprivate(bytes) shared(found) if (deferred)
    found = bytes.sum();
#pragma omp taskwait
    expect("bytes", found, wanted);
    long total = 0;
#pragma omp taskloop firstprivate(bytes) shared(total) grainsize(3) if (deferred)
    for (int i = 0; i < 10; i++) {
#pragma omp atomic
        total += bytes.sum() + i;
    }
    expect("bytes of a loop", total, 10 * wanted + 45);
}

void all(bool deferred) {
    sized<8>(deferred);
    sized<150>(deferred);
    sized<1000>(deferred);
    sized<5000>(deferred);
    sized<70000>(deferred);
    Careful careful;
    long good = 0;
    for (int i = 0; i < 10; i++) {
#pragma omp task firstprivate(careful) shared(good) if (deferred)
        {
            if (careful.good()) {
#pragma omp atomic
                good += careful.value;
            }
        }
    }
#pragma omp taskwait
    expect("careful tasks", good, 10);
    good = 0;
#pragma omp taskloop firstprivate(careful) shared(good) num_tasks(5) if (deferred)
    for (int i = 0; i < 20; i++) {
        if (careful.good()) {
#pragma omp atomic
            good += careful.value;
        }
    }
    expect("careful loop", good, 20);
    long sum = 0;
#pragma omp taskloop reduction(+ : sum) num_tasks(4) if (deferred)
    for (int i = 0; i < 100; i++)
        sum += i;
    expect("reduced loop", sum, 4950);
    unsigned long long wide = 0;
#pragma omp taskloop shared(wide) num_tasks(4) if (deferred)
    for (unsigned long long i = 1ull << 63; i < (1ull << 63) + 10; i++) {
#pragma omp atomic
        wide += i - (1ull << 63);
    }
    expect("wide loop", static_cast<long>(wide), 45);
#pragma omp taskgroup
    {
#pragma omp taskloop nogroup shared(sum) num_tasks(4) if (deferred)
        for (int i = 0; i < 100; i++) {
#pragma omp atomic
            sum += i;
        }
    }
    expect("loop without a group", sum, 9900);
    // No data at all, an event, and dependences.
#pragma omp task if (deferred)
    { }
    omp_event_handle_t event;
    int inside = 0;
#pragma omp task detach(event) shared(inside)
    {
        inside = 1;
        omp_fulfill_event(event);
    }
#pragma omp taskwait
    expect("detached", inside, 1);
    int chain = 0;
    for (int i = 0; i < 20; i++) {
#pragma omp task depend(inout : chain) shared(chain) if (deferred || i == 19) priority(i)
        chain = chain * 3 % 1009 + i;
    }
#pragma omp taskwait depend(in : chain)
    int wanted = 0;
    for (int i = 0; i < 20; i++)
        wanted = wanted * 3 % 1009 + i;
    expect("chain", chain, wanted);
#pragma omp taskyield
}

} // namespace

int main() {
    all(true); // Outside of regions.
#pragma omp parallel num_threads(2)
#pragma omp single
    {
        all(true);
        all(false);
    }
    expect("deaths", deaths, copies + 3);
    return failures;
}
