//! Calls of the loader beside forks: neither may begin while the other is under way.
#![allow(unsafe_code)]

use std::sync::atomic::{AtomicU32, Ordering::SeqCst};

/// Calls of the loader that are under way, and forks that wait for them.
static LOADER_CALLS: AtomicU32 = AtomicU32::new(0);
static FORKS: AtomicU32 = AtomicU32::new(0);

/// Calls `ask`, which asks the loader for what is loaded; `false`, and nothing done, while the process
/// forks: a child that is made while one of its threads holds the loader's lock never gets it back.
pub(crate) fn with_loader(ask: impl FnOnce()) -> bool {
    LOADER_CALLS.fetch_add(1, SeqCst);
    let may = FORKS.load(SeqCst) == 0;
    if may {
        ask();
    }
    LOADER_CALLS.fetch_sub(1, SeqCst);
    may
}

/// Before a fork, on the thread that forks.
pub(crate) extern "C" fn before() {
    FORKS.fetch_add(1, SeqCst);
    while LOADER_CALLS.load(SeqCst) != 0 {
        // SAFETY: takes nothing and cannot fail.
        unsafe { libc::sched_yield() };
    }
}

/// After a fork, in the parent.
pub(crate) extern "C" fn after() {
    FORKS.fetch_sub(1, SeqCst);
}

/// In the child of a fork, which has one thread.
pub(crate) fn reset() {
    FORKS.store(0, SeqCst);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_loader_is_not_asked_while_the_process_forks() {
        let mut asked = 0;
        assert!(with_loader(|| asked += 1));
        before();
        assert!(!with_loader(|| asked += 1));
        after();
        assert!(with_loader(|| asked += 1));
        assert_eq!(asked, 2);
    }
}
