//! Filters of system calls (seccomp) that the program sets for itself: from then on a thread that waits makes
//! no system calls, since a filter may end the process at any call that the program does not make itself.
#![allow(unsafe_code)]

use std::ffi::{c_int, c_long, c_ulong};

use crate::next::{Next, noting};

static PRCTL: Next = Next::new(c"prctl");
static SYSCALL: Next = Next::new(c"syscall");

/// `prctl(2)` with these arguments.
extern "C" fn note_prctl(option: c_int, second: c_ulong, filter: c_ulong) -> usize {
    note(
        option == libc::PR_SET_SECCOMP,
        second == c_ulong::from(libc::SECCOMP_MODE_STRICT),
        filter,
    );
    PRCTL.or_nothing()
}

/// A system call by its number, with these arguments. The C library has no function for `seccomp(2)`.
extern "C" fn note_syscall(
    number: c_long,
    operation: c_ulong,
    _flags: c_ulong,
    filter: c_ulong,
) -> usize {
    let sets = [libc::SECCOMP_SET_MODE_STRICT, libc::SECCOMP_SET_MODE_FILTER];
    let is_set = sets.map(c_ulong::from).contains(&operation);
    note(
        number == libc::SYS_seccomp && is_set,
        operation == 0,
        filter,
    );
    SYSCALL.or_nothing()
}

/// A filter that is not there only asks whether there could be one.
fn note(sets: bool, is_strict: bool, filter: c_ulong) {
    if sets && (is_strict || filter != 0) {
        race_stream::producer::wait_without_system_calls();
        #[cfg(target_arch = "x86_64")]
        preload::exec::is_filtered();
    }
}

noting! {
    prctl => note_prctl [] [];
    syscall => note_syscall [] [];
}
