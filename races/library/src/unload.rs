//! Libraries that the program unloads.
#![allow(unsafe_code)]

use std::ffi::{c_int, c_void};

use inside::next;
use race_stream::record::{Checks, Event};

use crate::looked_for::checks;
use crate::process::wait_for_look;
use crate::tls;

/// A library is unloaded: what is mapped there, the reader can learn only before that.
///
/// # Safety
/// As `dlclose` of the C library.
#[cfg_attr(not(test), unsafe(no_mangle))]
unsafe extern "C-unwind" fn dlclose(handle: *mut c_void) -> c_int {
    if checks() != Checks::default() {
        wait_for_look();
        // Locks of its own go with it.
        tls::with(|thread| {
            thread.event(&Event::LockInit {
                kind: 0,
                lock: 0,
                code: 0,
                context: 0,
            })
        });
    }
    next!(c"dlclose", fn(*mut c_void) -> c_int, (handle), -1)
}
