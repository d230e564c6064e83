//! Processes that are traced: no signal of ours stops them.
//!
//! A thread that is traced stops for each signal, and its tracer decides what becomes of it. So a process
//! that asks for a tracer, or that has one when the library is loaded, is not sampled. A tracer that comes
//! later is a debugger, which passes on what it does not know.
#![allow(unsafe_code)]

use std::ffi::{c_int, c_long, c_ulong};
use std::mem::transmute;
use std::sync::atomic::AtomicUsize;

use crate::{filters, process, sampler};

type Ptrace = unsafe extern "C" fn(c_ulong, c_ulong, c_ulong, c_ulong) -> c_long;
type Syscall = unsafe extern "C" fn(c_long, c_ulong, c_ulong, c_ulong, c_ulong) -> c_long;

/// The C library's function; 0 until it is looked up.
static PTRACE: AtomicUsize = AtomicUsize::new(0);

/// Looks the C library's function up, so that it can be called from anywhere later.
pub(crate) fn resolve() {
    filters::find(&PTRACE, c"ptrace");
}

/// Called before a request to the kernel. The child of `vfork` has the memory of its parent, and no timers.
fn before(request: c_ulong) {
    if request as c_int == libc::PTRACE_TRACEME as c_int && process::is_own_memory() {
        sampler::is_traced();
    }
}

/// As the C library's.
///
/// # Safety
/// That of ptrace(2).
#[unsafe(no_mangle)]
unsafe extern "C" fn ptrace(
    request: c_ulong,
    pid: c_ulong,
    address: c_ulong,
    data: c_ulong,
) -> c_long {
    before(request);
    let real = filters::find(&PTRACE, c"ptrace");
    if real == 0 {
        return -1;
    }
    // SAFETY: the C library's function of this name, and the caller's arguments.
    unsafe { transmute::<usize, Ptrace>(real)(request, pid, address, data) }
}

/// The same by `syscall`.
///
/// # Safety
/// That of ptrace(2); the first argument is its number.
pub(crate) unsafe extern "C" fn by_number(
    number: c_long,
    request: c_ulong,
    pid: c_ulong,
    address: c_ulong,
    data: c_ulong,
) -> c_long {
    before(request);
    let real = filters::real_syscall();
    if real == 0 {
        return -1;
    }
    // SAFETY: the C library's function, and the caller's arguments: this call has no more.
    unsafe { transmute::<usize, Syscall>(real)(number, request, pid, address, data) }
}

/// Whether this process has a tracer, as far as `/proc` tells. Called while the library is loaded.
pub(crate) fn has_tracer() -> bool {
    const FIELD: &[u8] = b"\nTracerPid:\t";
    // SAFETY: a C string goes in. The kernel fills the local array as far as it says, and the descriptor is
    // ours.
    unsafe {
        let file = libc::open(
            c"/proc/self/status".as_ptr(),
            libc::O_RDONLY | libc::O_CLOEXEC,
        );
        if file < 0 {
            return false;
        }
        // The field is one of the first, after a name of at most 64 bytes.
        let mut text = [0_u8; 512];
        let length = libc::read(file, text.as_mut_ptr().cast(), text.len());
        libc::close(file);
        let text = text.get(..length.max(0) as usize).unwrap_or_default();
        let at = text.windows(FIELD.len()).position(|part| part == FIELD);
        let pid = at.and_then(|at| text.get(at + FIELD.len()));
        pid.is_some_and(|digit| *digit != b'0')
    }
}
