//! Filters of system calls (seccomp) that the program sets for itself, and requests for a tracer: a library of
//! ours is told before them.
//!
//! A filter may end the process at any call that the program does not make itself. A traced thread stops for
//! each signal.

use std::ffi::{c_int, c_long, c_ulong};

use inside::filters;
use inside::next::Next;

static PRCTL: Next = Next::new(c"prctl");
static SYSCALL: Next = Next::new(c"syscall");
static PTRACE: Next = Next::new(c"ptrace");

/// What a library of ours does before the program does that.
pub trait Watch {
    /// The program sets a filter.
    fn filter();

    /// The program asks for a tracer.
    fn tracer();
}

/// Called as the library is loaded.
pub(crate) fn start() {
    for next in [&PRCTL, &SYSCALL, &PTRACE] {
        next.address();
    }
}

/// A filter that is not there only asks whether there could be one.
fn note<W: Watch>(is_strict: bool, filter: c_ulong) {
    if is_strict || filter != 0 {
        filters::set();
        W::filter();
    }
}

fn note_request<W: Watch>(request: c_ulong) {
    if request as c_int == libc::PTRACE_TRACEME as c_int {
        W::tracer();
    }
}

/// Before `prctl(2)` with these arguments. Returns the C library's function.
pub extern "C" fn prctl<W: Watch>(option: c_int, second: c_ulong, filter: c_ulong) -> usize {
    if option == libc::PR_SET_SECCOMP {
        note::<W>(second == c_ulong::from(libc::SECCOMP_MODE_STRICT), filter);
    }
    PRCTL.or_nothing()
}

/// Before a system call by its number: the C library has no function for `seccomp(2)`, and `ptrace(2)` may be
/// called so, too.
pub extern "C" fn syscall<W: Watch>(
    number: c_long,
    operation: c_ulong,
    _second: c_ulong,
    argument: c_ulong,
) -> usize {
    if number == libc::SYS_seccomp {
        let is_strict = operation == c_ulong::from(libc::SECCOMP_SET_MODE_STRICT);
        let is_filter = operation == c_ulong::from(libc::SECCOMP_SET_MODE_FILTER);
        if is_strict || is_filter {
            note::<W>(is_strict, argument);
        }
    } else if number == libc::SYS_ptrace {
        note_request::<W>(operation);
    }
    SYSCALL.or_nothing()
}

/// Before `ptrace(2)`.
pub extern "C" fn ptrace<W: Watch>(request: c_ulong) -> usize {
    note_request::<W>(request);
    PTRACE.or_nothing()
}
