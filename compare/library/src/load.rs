//! What is done while the library is loaded.
#![allow(unsafe_code)]

use crate::{allocation, output, region};

/// Filters of system calls that the program sets for itself: its copies would be under them, too.
struct Watch;

impl preload::filters::Watch for Watch {
    fn filter() {
        if !crate::keeper::is_peer() {
            region::stop();
        }
    }

    fn tracer() {}
}

preload::interpose!(Watch);

extern "C" fn after_fork_in_child() {
    region::stop();
}

extern "C" fn start() {
    allocation::start();
    let Some(output) = output::output() else {
        return;
    };
    // A panic is ours, and not the program's to print.
    std::panic::set_hook(Box::new(|_| ()));
    // SAFETY: a function of the right type in a library that is never unloaded.
    unsafe { libc::pthread_atfork(None, None, Some(after_fork_in_child)) };
    region::start(output);
}

// SAFETY: the loader calls each pointer of this section once, while it loads the library.
#[cfg_attr(not(test), unsafe(link_section = ".init_array"))]
#[used]
static AT_START: extern "C" fn() = start;

extern "C" fn end() {
    region::end();
}

// SAFETY: the loader calls each pointer of this section once, when the process exits.
#[cfg_attr(not(test), unsafe(link_section = ".fini_array"))]
#[used]
static AT_END: extern "C" fn() = end;
