//! What is done before the program sets a filter of system calls ([`inside::filters`]), or asks for a tracer.
#![allow(unsafe_code)]

use crate::process;
#[cfg(target_arch = "x86_64")]
use crate::sampler;

#[cfg(target_arch = "x86_64")]
struct Watch;

#[cfg(target_arch = "x86_64")]
impl preload::filters::Watch for Watch {
    fn filter() {
        if let Some(arena) = process::attached() {
            arena.open_all();
        }
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
