// A helper releases in its destructor what was released by hand.
#include <cstdio>
struct Lock { void *words[4]; };
extern "C" { void omp_init_lock(Lock *); void omp_destroy_lock(Lock *); void omp_set_lock(Lock *); void omp_unset_lock(Lock *); }
struct Hold {
    Lock *lock;
    explicit Hold(Lock *it) : lock(it) { omp_set_lock(lock); }
    ~Hold() { omp_unset_lock(lock); } // second
};
static Lock gate;
static long total;
int main()
{
    omp_init_lock(&gate);
#pragma omp parallel for num_threads(2)
    for (int k = 0; k < 20; k++) {
        Hold hold(&gate);
        total += k;
        if (k == 7)
            omp_unset_lock(&gate); // first
    }
    std::printf("%ld\n", total);
    omp_destroy_lock(&gate);
}
