/* Synchronisation that a program has made itself, declared to `collect -r`.
 *
 * The calls are those of Sun's Thread Analyzer. `id` is any number that stands for the lock or object,
 * such as its address. They need no library at link time. Without `collect`, a call costs about a
 * nanosecond and does nothing. They are macros, so that a finding has the line of the call.
 */
#ifndef PARALLAX_THA_INTERFACE_H
#define PARALLAX_THA_INTERFACE_H

#include <stdint.h>

#include "collectorAPI.h"

#if defined(__GNUC__) || defined(__clang__)
#define PARALLAX_UNUSED __attribute__((unused))
#else
#define PARALLAX_UNUSED
#endif

static void *parallax_tha[12] PARALLAX_UNUSED = {
    (void *)1, (void *)1, (void *)1, (void *)1, (void *)1, (void *)1,
    (void *)1, (void *)1, (void *)1, (void *)1, (void *)1, (void *)1,
};

#define PARALLAX_THA(number, name, id)                                                               \
  do {                                                                                               \
    void *parallax_found = parallax_find(&parallax_tha[number], name);                               \
    if (parallax_found)                                                                              \
      (__extension__(void (*)(uintptr_t))parallax_found)((uintptr_t)(id));                           \
  } while (0)

/* Before the program tries to take a lock, and may wait for it. */
#define tha_notify_acquire_lock(id) PARALLAX_THA(0, "tha_notify_acquire_lock", id)
/* After it has taken it. */
#define tha_notify_lock_acquired(id) PARALLAX_THA(1, "tha_notify_lock_acquired", id)

/* The same of a lock with readers and writers. */
#define tha_notify_acquire_writelock(id) PARALLAX_THA(2, "tha_notify_acquire_writelock", id)
#define tha_notify_writelock_acquired(id) PARALLAX_THA(3, "tha_notify_writelock_acquired", id)
#define tha_notify_acquire_readlock(id) PARALLAX_THA(4, "tha_notify_acquire_readlock", id)
#define tha_notify_readlock_acquired(id) PARALLAX_THA(5, "tha_notify_readlock_acquired", id)

/* Before the program releases a lock of any kind, and after it. One of the two is enough; the first is
 * the better one. */
#define tha_notify_release_lock(id) PARALLAX_THA(6, "tha_notify_release_lock", id)
#define tha_notify_lock_released(id) PARALLAX_THA(7, "tha_notify_lock_released", id)

/* Around what lets others go on: what stands before it comes before what follows their wait. */
#define tha_notify_sync_post_begin(id) PARALLAX_THA(8, "tha_notify_sync_post_begin", id)
#define tha_notify_sync_post_end(id) PARALLAX_THA(9, "tha_notify_sync_post_end", id)

/* Around a wait for that. */
#define tha_notify_sync_wait_begin(id) PARALLAX_THA(10, "tha_notify_sync_wait_begin", id)
#define tha_notify_sync_wait_end(id) PARALLAX_THA(11, "tha_notify_sync_wait_end", id)

#endif
