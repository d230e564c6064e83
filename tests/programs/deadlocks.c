// Locks, barriers and constructs used wrongly, each with a twin that is right. The argument names the case.
#include <omp.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static omp_lock_t a, b, c;
static omp_nest_lock_t nest;
static pthread_mutex_t first = PTHREAD_MUTEX_INITIALIZER, second = PTHREAD_MUTEX_INITIALIZER;
static pthread_rwlock_t table = PTHREAD_RWLOCK_INITIALIZER;
static volatile int step;
static int work;

// Not OpenMP's and not instrumented: no event tells of it.
#define UNSEEN __attribute__((noinline, no_sanitize("thread"))) static

// Waits until others have come this far.
UNSEEN void reach(int number) {
  __atomic_add_fetch(&step, 1, __ATOMIC_SEQ_CST);
  while (__atomic_load_n(&step, __ATOMIC_SEQ_CST) < number)
    usleep(100);
}

// Waits for its turn, without a reason that a tool could see.
UNSEEN void turn(int number) {
  while (__atomic_load_n(&step, __ATOMIC_SEQ_CST) < number)
    usleep(100);
}

UNSEEN void next(void) { __atomic_add_fetch(&step, 1, __ATOMIC_SEQ_CST); }

// Compilers refuse such constructs where they see what is around them.
__attribute__((noinline)) static void loop(void) {
#pragma omp for schedule(dynamic)
  for (int i = 0; i < 4; i++)
    work++;
}

__attribute__((noinline)) static void barrier(void) {
#pragma omp barrier
}

static void both(omp_lock_t *one, omp_lock_t *other) {
  omp_set_lock(one);
  omp_set_lock(other); // both
  work++;
  omp_unset_lock(other);
  omp_unset_lock(one);
}

static void critical_order(int is_right) {
#pragma omp parallel num_threads(2)
  if (omp_get_thread_num() == 0 || is_right) {
    turn(omp_get_thread_num());
#pragma omp critical(left)
#pragma omp critical(right) // left, right
    work++;
    next();
  } else {
    turn(1);
#pragma omp critical(right)
#pragma omp critical(left) // right, left
    work++;
    next();
  }
}

static void lock_order(int is_right) {
#pragma omp parallel num_threads(2)
  {
    int me = omp_get_thread_num();
    turn(me);
    if (me == 0 || is_right)
      both(&a, &b);
    else
      both(&b, &a);
    next();
  }
}

static void opposite(omp_lock_t *one, omp_lock_t *other) {
#pragma omp parallel num_threads(2)
  {
    int me = omp_get_thread_num();
    turn(me);
    if (me == 0)
      both(one, other);
    else
      both(other, one);
    next();
  }
}

static void heap_order(void) {
  omp_lock_t *pair = malloc(2 * sizeof *pair); // pair
  omp_init_lock(&pair[0]);
  omp_init_lock(&pair[1]);
  opposite(&pair[0], &pair[1]);
  omp_destroy_lock(&pair[0]);
  omp_destroy_lock(&pair[1]);
  free(pair);
}

static void stack_order(void) {
  omp_lock_t own, its;
  omp_init_lock(&own);
  omp_init_lock(&its);
  opposite(&own, &its);
  omp_destroy_lock(&own);
  omp_destroy_lock(&its);
}

static void gate(void) {
#pragma omp parallel num_threads(2)
  {
    int me = omp_get_thread_num();
    turn(me);
    omp_set_lock(&c);
    if (me == 0)
      both(&a, &b);
    else
      both(&b, &a);
    omp_unset_lock(&c);
    next();
  }
}

static void three(void) {
#pragma omp parallel num_threads(3)
  {
    int me = omp_get_thread_num();
    turn(me);
    if (me == 0)
      both(&a, &b);
    else if (me == 1)
      both(&b, &c);
    else
      both(&c, &a);
    next();
  }
}

// In different intervals, so never at one time.
static void intervals(void) {
#pragma omp parallel num_threads(2)
  {
    if (omp_get_thread_num() == 0)
      both(&a, &b);
#pragma omp barrier
    if (omp_get_thread_num() == 1)
      both(&b, &a);
  }
}

static void tested(void) {
#pragma omp parallel num_threads(2)
  {
    int me = omp_get_thread_num();
    turn(me);
    if (me == 0) {
      both(&a, &b);
    } else {
      omp_set_lock(&b);
      if (omp_test_lock(&a))
        omp_unset_lock(&a);
      omp_unset_lock(&b);
    }
    next();
  }
}

static void tasks(void) {
#pragma omp parallel num_threads(2)
#pragma omp single
  {
#pragma omp task
    {
      both(&a, &b);
      next();
    }
    turn(1);
#pragma omp task
    both(&b, &a);
  }
}

static void depending_tasks(void) {
#pragma omp parallel num_threads(2)
#pragma omp single
  {
#pragma omp task depend(inout : work)
    both(&a, &b);
#pragma omp task depend(inout : work)
    both(&b, &a);
  }
}

static void *posix_one(void *is_right) {
  pthread_mutex_lock(&first);
  pthread_mutex_lock(&second); // first, second
  pthread_mutex_unlock(&second);
  pthread_mutex_unlock(&first);
  next();
  return is_right;
}

static void *posix_other(void *is_right) {
  turn(1);
  if (is_right)
    return posix_one(is_right);
  pthread_mutex_lock(&second);
  pthread_mutex_lock(&first); // second, first
  pthread_mutex_unlock(&first);
  pthread_mutex_unlock(&second);
  return is_right;
}

static void posix_order(int is_right) {
  pthread_t one, other;
  void *argument = is_right ? &work : NULL;
  pthread_create(&one, NULL, posix_one, argument);
  pthread_create(&other, NULL, posix_other, argument);
  pthread_join(one, NULL);
  pthread_join(other, NULL);
}

static void readers(void) {
#pragma omp parallel num_threads(2)
  {
    int me = omp_get_thread_num();
    turn(me);
    if (me == 0) {
      pthread_rwlock_rdlock(&table);
      pthread_mutex_lock(&first);
      pthread_mutex_unlock(&first);
      pthread_rwlock_unlock(&table);
    } else {
      pthread_mutex_lock(&first);
      pthread_rwlock_rdlock(&table);
      pthread_rwlock_unlock(&table);
      pthread_mutex_unlock(&first);
    }
    next();
  }
}

static void nested_locks(void) {
#pragma omp parallel num_threads(2)
  {
    omp_set_nest_lock(&nest);
    omp_set_nest_lock(&nest);
    work++;
    omp_unset_nest_lock(&nest);
    omp_unset_nest_lock(&nest);
  }
}

static void hang(void) {
#pragma omp parallel num_threads(2)
  if (omp_get_thread_num() == 0) {
    omp_set_lock(&a);
    reach(2);
    omp_set_lock(&b); // thread 0
  } else {
    omp_set_lock(&b);
    reach(2);
    omp_set_lock(&a); // thread 1
  }
}

static void own_hang(void) {
  omp_set_lock(&a);
  omp_set_lock(&a); // twice
}

static void left_hang(void) {
#pragma omp parallel num_threads(2)
  {
    omp_set_lock(&a); // left
    work++;
  }
}

static void branch_hang(void) {
#pragma omp parallel num_threads(3)
  {
    if (omp_get_thread_num() == 0) {
#pragma omp barrier
      work++;
    }
  }
}

static void critical_hang(void) {
#pragma omp parallel num_threads(2)
  {
#pragma omp critical
    {
      barrier(); // in critical
      work++;
    }
  }
}

static void slow(void) {
#pragma omp parallel num_threads(2)
  {
    if (omp_get_thread_num() == 0)
      for (;;)
        usleep(1000);
#pragma omp barrier
    work++;
  }
}

static void other_releases(void) {
#pragma omp parallel num_threads(2)
  {
    if (omp_get_thread_num() == 0)
      omp_set_lock(&a); // set
#pragma omp barrier
    if (omp_get_thread_num() == 1)
      omp_unset_lock(&a); // unset by another
  }
}

static void free_release(void) {
  omp_set_lock(&a);
  omp_unset_lock(&a);
  omp_unset_lock(&a); // unset again
}

static void never_released(void) {
  static omp_lock_t own[2];
#pragma omp parallel num_threads(2)
  {
    omp_init_lock(&own[omp_get_thread_num()]);
    omp_set_lock(&own[omp_get_thread_num()]); // never unset
  }
}

static void destroyed(void) {
  omp_set_lock(&a);
  omp_destroy_lock(&a); // destroyed
  omp_init_lock(&a);
}

static void uninitialised(void) {
  static omp_lock_t none;
  memset(&none, 0, sizeof none);
  omp_set_lock(&none); // not initialised
  omp_unset_lock(&none);
}

static void work_in_critical(void) {
#pragma omp parallel num_threads(1)
#pragma omp critical
  {
    loop();
  }
}

static void barrier_in_task(void) {
#pragma omp parallel num_threads(1)
#pragma omp single
  {
#pragma omp task
    barrier(); // in a task
#pragma omp taskwait
  }
}

static void barrier_in_master(void) {
#pragma omp parallel num_threads(1)
#pragma omp master
  {
    barrier(); // in master
    work++;
  }
}

static void barrier_in_loop(void) {
#pragma omp parallel num_threads(1)
  {
#pragma omp for schedule(dynamic)
    for (int i = 0; i < 2; i++)
      barrier(); // in a loop
  }
}

static void work_in_section(void) {
#pragma omp parallel num_threads(1)
  {
#pragma omp sections
    {
#pragma omp section
      loop();
#pragma omp section
      work++;
    }
  }
}

static void nothing_ordered(void) {
#pragma omp parallel for ordered num_threads(2) // nothing ordered
  for (int i = 0; i < 10; i++) {
#pragma omp atomic
    work++;
  }
}

static void threads_set(void) {
#pragma omp parallel num_threads(2)
  {
    omp_set_num_threads(4); // set inside
#pragma omp atomic
    work++;
  }
}

static void nesting_refused(void) {
  omp_set_max_active_levels(1);
#pragma omp parallel num_threads(2)
#pragma omp parallel num_threads(3) // refused
  {
#pragma omp atomic
    work++;
  }
#pragma omp parallel num_threads(2) if (work < 0)
#pragma omp parallel num_threads(2) // not nested
  {
#pragma omp atomic
    work++;
  }
  omp_set_max_active_levels(2);
#pragma omp parallel num_threads(2)
#pragma omp parallel num_threads(2)
  {
#pragma omp parallel num_threads(3) if (work < 0) // asks for one
#pragma omp atomic
    work++;
  }
  omp_set_max_active_levels(1);
}

static void different_barriers(void) {
#pragma omp parallel num_threads(2)
  {
    if (omp_get_thread_num() == 0) {
      work++;
#pragma omp barrier
    } else {
#pragma omp for schedule(dynamic)
      for (int i = 0; i < 4; i++)
        step++;
    }
    __atomic_add_fetch(&work, 1, __ATOMIC_SEQ_CST);
  }
}

static void different_loops(void) {
#pragma omp parallel num_threads(2)
  {
    if (omp_get_thread_num() == 0) {
#pragma omp for schedule(dynamic) nowait
      for (int i = 0; i < 4; i++)
        work++;
    } else {
#pragma omp for schedule(dynamic) nowait
      for (int i = 0; i < 4; i++)
        step++;
    }
  }
}

// Everything that is allowed.
static int sum, sums[100];

static void right(void) {
  omp_lock_t own;
  omp_init_lock(&own);
  omp_set_max_active_levels(2);
#pragma omp parallel num_threads(4)
  {
#pragma omp for schedule(dynamic)
    for (int i = 0; i < 100; i++) {
      omp_set_lock(&own);
      work++;
      omp_unset_lock(&own);
    }
#pragma omp single
    for (int i = 0; i < 10; i++)
#pragma omp task
    {
      omp_set_lock(&a);
#pragma omp critical
      work++;
      omp_unset_lock(&a);
    }
#pragma omp for ordered
    for (int i = 0; i < 10; i++)
#pragma omp ordered
      work++;
#pragma omp for ordered
    for (int i = 0; i < 0; i++)
      work++;
#pragma omp for reduction(inscan, + : sum)
    for (int i = 0; i < 100; i++) {
      sum += i;
#pragma omp scan inclusive(sum)
      sums[i] = sum;
    }
    omp_set_num_threads(2);
#pragma omp parallel
#pragma omp atomic
    work++;
    omp_set_num_threads(3);
#pragma omp atomic
    work += omp_get_max_threads();
#pragma omp sections
    {
#pragma omp section
      work++;
#pragma omp section
      step++;
    }
#pragma omp single nowait
    work++;
#pragma omp master
    work++;
#pragma omp barrier
#pragma omp parallel num_threads(2)
    {
#pragma omp barrier
#pragma omp single
#pragma omp critical
      work++;
    }
  }
  omp_destroy_lock(&own);
}

int main(int argc, char **argv) {
  const char *name = argc > 1 ? argv[1] : "right";
  omp_init_lock(&a);
  omp_init_lock(&b);
  omp_init_lock(&c);
  omp_init_nest_lock(&nest);
#define CASE(word, call)                                                                           \
  if (strcmp(name, word) == 0)                                                                     \
    call;
  CASE("critical-order", critical_order(0))
  CASE("critical-order-right", critical_order(1))
  CASE("lock-order", lock_order(0))
  CASE("lock-order-right", lock_order(1))
  CASE("heap-order", heap_order())
  CASE("stack-order", stack_order())
  CASE("gate", gate())
  CASE("three", three())
  CASE("intervals", intervals())
  CASE("tested", tested())
  CASE("tasks", tasks())
  CASE("depending-tasks", depending_tasks())
  CASE("posix-order", posix_order(0))
  CASE("posix-order-right", posix_order(1))
  CASE("readers", readers())
  CASE("nested-locks", nested_locks())
  CASE("hang", hang())
  CASE("own-hang", own_hang())
  CASE("left-hang", left_hang())
  CASE("branch-hang", branch_hang())
  CASE("critical-hang", critical_hang())
  CASE("slow", slow())
  CASE("other-releases", other_releases())
  CASE("free-release", free_release())
  CASE("never-released", never_released())
  CASE("destroyed", destroyed())
  CASE("uninitialised", uninitialised())
  CASE("work-in-critical", work_in_critical())
  CASE("barrier-in-task", barrier_in_task())
  CASE("different-barriers", different_barriers())
  CASE("different-loops", different_loops())
  CASE("barrier-in-master", barrier_in_master())
  CASE("barrier-in-loop", barrier_in_loop())
  CASE("work-in-section", work_in_section())
  CASE("nothing-ordered", nothing_ordered())
  CASE("threads-set", threads_set())
  CASE("nesting-refused", nesting_refused())
  CASE("right", right())
  printf("%d\n", work);
  return 0;
}
