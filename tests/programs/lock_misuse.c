/* Calls of lock routines that the specification forbids, each in the function of its case, and some that look like
   them. The line of each such call has the kind of misuse behind it. */
#include <omp.h>
#include <stdlib.h>
#include <string.h>

static omp_lock_t lock;
static omp_nest_lock_t nest;
/* Compilers leave the calls where they are. */
static volatile int after;

static void destroy_static(void)
{
    omp_destroy_lock(&lock); // lock not initialised
    after = 1;
}

static void destroy_block(void)
{
    omp_lock_t *block = malloc(sizeof *block);
    memset(block, 0, sizeof *block);
    omp_destroy_lock(block); // lock not initialised
    after = 1;
}

static void destroy_local(void)
{
    omp_lock_t local;
    memset(&local, 0, sizeof local);
    omp_destroy_lock(&local); // lock not initialised
    after = 1;
}

static void set(void)
{
    omp_set_lock(&lock); // lock not initialised
    omp_unset_lock(&lock);
    after = 1;
}

static void set_nest(void)
{
    omp_set_nest_lock(&nest); // lock not initialised
    omp_unset_nest_lock(&nest);
    after = 1;
}

static void unset_nest(void)
{
    omp_unset_nest_lock(&nest); // lock not initialised
    after = 1;
}

static void test(void)
{
    after = omp_test_lock(&lock); // lock not initialised
}

static void unset(void)
{
    omp_unset_lock(&lock); // lock not initialised
    after = 1;
}

static void unset_free(void)
{
    omp_init_lock(&lock);
    omp_unset_lock(&lock); // lock released that is not set
    after = 1;
}

static void unset_nest_free(void)
{
    omp_init_nest_lock(&nest);
    omp_unset_nest_lock(&nest); // lock released that is not set
    after = 1;
}

static void unset_twice(void)
{
    omp_init_lock(&lock);
    omp_set_lock(&lock);
    omp_unset_lock(&lock);
    omp_unset_lock(&lock); // lock released that is not set
    after = 1;
}

static void destroy_set(void)
{
    omp_init_lock(&lock);
    omp_set_lock(&lock);
    omp_destroy_lock(&lock); // lock destroyed while set
    after = 1;
}

static void init_twice(void)
{
    omp_init_lock(&lock);
    omp_init_lock(&lock); // lock initialised twice
    omp_destroy_lock(&lock);
    after = 1;
}

static void init_block_twice(void)
{
    omp_lock_t *block = malloc(sizeof *block);
    omp_init_lock(block);
    omp_init_lock(block); // lock initialised twice
    omp_destroy_lock(block);
    free(block);
}

static void destroy_twice(void)
{
    omp_init_lock(&lock);
    omp_destroy_lock(&lock);
    omp_destroy_lock(&lock); // lock not initialised
    after = 1;
}

static void set_destroyed(void)
{
    omp_init_lock(&lock);
    omp_destroy_lock(&lock);
    omp_set_lock(&lock); // lock not initialised
    omp_unset_lock(&lock);
    after = 1;
}

/* Memory of locks that were not destroyed is that of others later. */
static __attribute__((noinline)) void local_lock(void)
{
    omp_lock_t local;
    omp_init_lock(&local);
    omp_set_lock(&local);
    omp_unset_lock(&local);
}

static void used_again(void)
{
    for (int k = 0; k < 3; k++)
        local_lock();
    for (int k = 0; k < 3; k++) {
        omp_lock_t *block = malloc(sizeof *block);
        omp_init_lock(block);
        omp_set_lock(block);
        omp_unset_lock(block);
        free(block);
    }
    struct { long use; omp_lock_t lock; } *pool = malloc(10 * sizeof *pool);
    for (int k = 0; k < 30; k++) {
        omp_init_lock(&pool[k % 10].lock);
        after = omp_test_lock(&pool[k % 10].lock);
        omp_unset_lock(&pool[k % 10].lock);
    }
    pool = realloc(pool, 20 * sizeof *pool);
    omp_init_lock(&pool[19].lock);
    omp_destroy_lock(&pool[19].lock);
    free(pool);
    for (int k = 0; k < 3; k++) {
        omp_init_nest_lock(&nest);
        omp_set_nest_lock(&nest);
        omp_set_nest_lock(&nest);
        after = omp_test_nest_lock(&nest);
        for (int held = 0; held < 3; held++)
            omp_unset_nest_lock(&nest);
        omp_destroy_nest_lock(&nest);
    }
}

static omp_lock_t early;
__attribute__((constructor)) static void begin(void)
{
    omp_init_lock(&early);
}

static void initialised_early(void)
{
#pragma omp parallel num_threads(4)
    {
        omp_set_lock(&early);
        after = 1;
        omp_unset_lock(&early);
    }
    omp_destroy_lock(&early);
}

int main(int count, char **arguments)
{
    const char *word = count > 1 ? arguments[1] : "";
#define CASE(name) if (strcmp(word, #name) == 0) name();
    CASE(destroy_static)
    CASE(destroy_block)
    CASE(destroy_local)
    CASE(set)
    CASE(set_nest)
    CASE(unset_nest)
    CASE(test)
    CASE(unset)
    CASE(unset_free)
    CASE(unset_nest_free)
    CASE(unset_twice)
    CASE(destroy_set)
    CASE(init_twice)
    CASE(init_block_twice)
    CASE(destroy_twice)
    CASE(set_destroyed)
    CASE(used_again)
    CASE(initialised_early)
    return 0;
}
