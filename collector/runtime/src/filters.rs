//! Filters of system calls (seccomp) that the program sets for itself, and requests for a tracer.
//!
//! A filter may end the process at any call that the program does not make itself. So after the program
//! has set one, we make only calls that no program with threads can do without.
#![allow(unsafe_code)]

use std::sync::atomic::AtomicBool;
use std::sync::atomic::Ordering::{Acquire, Release};

use crate::process;
#[cfg(target_arch = "x86_64")]
use crate::sampler;

static ARE_SET: AtomicBool = AtomicBool::new(false);

/// Whether the program has set a filter, or is about to.
pub(crate) fn are_set() -> bool {
    ARE_SET.load(Acquire)
}

#[cfg(target_arch = "x86_64")]
struct Watch;

#[cfg(target_arch = "x86_64")]
impl preload::filters::Watch for Watch {
    fn filter() {
        if let Some(arena) = process::attached() {
            arena.open_all();
        }
        ARE_SET.store(true, Release);
        sampler::end_all();
    }

    fn tracer() {
        // The child of `vfork` has the memory of its parent, and no timers.
        if process::is_own_memory() {
            sampler::is_traced();
        }
    }
}

#[cfg(target_arch = "x86_64")]
preload::interpose!(Watch);
