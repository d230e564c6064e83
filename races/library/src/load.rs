//! What is done while the library is loaded: later the program may have closed every file, changed its root, or
//! forbidden itself system calls, and a thread may hold a lock of the loader.
#![allow(unsafe_code)]

use crate::process::{attached, is_early};
use crate::{own_memory, threads};

extern "C" fn at_load() {
    if !is_early() {
        own_memory::learn_limit();
        if attached().is_some() {
            threads::start();
        }
    }
}

// SAFETY: the loader calls each pointer of this section once, while it loads the library.
#[cfg_attr(not(test), unsafe(link_section = ".init_array"))]
#[used]
static AT_LOAD: extern "C" fn() = at_load;
