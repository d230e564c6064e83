//! Whether the program has set a filter of system calls (seccomp) for itself.
//!
//! A filter may end the process at any call that the program does not make itself. So after the program has
//! set one, libraries of ours make only calls that no program with threads can do without.

use std::sync::atomic::AtomicBool;
use std::sync::atomic::Ordering::{Acquire, Release};

static ARE_SET: AtomicBool = AtomicBool::new(false);

/// Whether the program has set a filter, or is about to.
#[must_use]
pub fn are_set() -> bool {
    ARE_SET.load(Acquire)
}

/// The program is about to set one.
pub fn set() {
    ARE_SET.store(true, Release);
}
