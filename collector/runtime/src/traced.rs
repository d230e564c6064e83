//! Processes that are traced: no signal of ours stops them.
//!
//! A thread that is traced stops for each signal, and its tracer decides what becomes of it. So a process
//! that asks for a tracer, or that has one when the library is loaded, is not sampled. A tracer that comes
//! later is a debugger, which passes on what it does not know.
#![allow(unsafe_code)]

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
