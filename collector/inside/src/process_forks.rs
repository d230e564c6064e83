//! Keeps calls of the loader and forks apart: neither begins while the other is under way.
#![allow(unsafe_code)]

use std::sync::atomic::{AtomicU32, Ordering::SeqCst};

/// Number of calls of the loader that are under way.
static LOADER_CALLS: AtomicU32 = AtomicU32::new(0);
/// Number of forks that are under way or wait for those calls.
static FORKS: AtomicU32 = AtomicU32::new(0);

/// Calls `f`, which calls the loader. Returns `false` without calling it while the process forks: if
/// a thread of the parent held the loader's lock at the fork, nobody would release it in the child.
pub(crate) fn with_loader(f: impl FnOnce()) -> bool {
    LOADER_CALLS.fetch_add(1, SeqCst);
    let may_call = FORKS.load(SeqCst) == 0;
    if may_call {
        f();
    }
    LOADER_CALLS.fetch_sub(1, SeqCst);
    may_call
}

/// Called before a fork, on the thread that forks.
pub extern "C" fn before() {
    FORKS.fetch_add(1, SeqCst);
    while LOADER_CALLS.load(SeqCst) != 0 {
        // SAFETY: the call takes no argument and touches no memory.
        unsafe { libc::sched_yield() };
    }
}

/// Called after a fork, in the parent.
pub extern "C" fn after() {
    FORKS.fetch_sub(1, SeqCst);
}

/// Called after a fork, in the child, which has one thread.
pub fn reset() {
    FORKS.store(0, SeqCst);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_loader_is_not_called_while_the_process_forks() {
        let mut calls = 0;
        assert!(with_loader(|| calls += 1));
        before();
        assert!(!with_loader(|| calls += 1));
        after();
        assert!(with_loader(|| calls += 1));
        assert_eq!(calls, 2);
    }
}
