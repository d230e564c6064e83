//! Control of the recording by the program and by signals to it.
//!
//! The functions are those of Sun Studio's and gprofng's `libcollector`, so that a program that calls
//! theirs calls ours, which is preloaded. Phases are an addition. Names with an underscore at the end
//! are those of Fortran's calls, with the lengths of strings as last arguments.
//!
//! Everything here may run in a signal handler: it pushes into the arena's queue, which takes no lock.
#![allow(unsafe_code)]

use std::ffi::{CStr, c_char, c_int};
use std::ptr;
use std::sync::atomic::{AtomicI32, Ordering::Relaxed};

use omp_ring::Arena;
use omp_ring::control::{ControlKind, Misuse, NAME_BYTES, SIGNALS_VARIABLE_C, Used};

use crate::process;

/// Pauses recording, or lets it go on.
pub(crate) fn pause(paused: bool) {
    if let Some(arena) = process::arena() {
        arena.set_paused(paused);
        push_pause(arena, paused);
    }
}

/// Ends the recording.
pub(crate) fn terminate() {
    push(ControlKind::Terminate, Used::default(), b"");
}

/// A phase of the process begins.
pub(crate) fn phase_begin(name: &[u8]) {
    push(ControlKind::PhaseBegin, Used::default(), name);
}

/// The innermost phase of the process ends.
pub(crate) fn phase_end() {
    push(ControlKind::PhaseEnd, Used::default(), b"");
}

/// A sample point.
pub(crate) fn sample(name: &[u8]) {
    push(ControlKind::Sample, used(), name);
}

/// The program, or what its compiler inserts, has misused an interface.
pub(crate) fn misused(what: Misuse, name: &[u8]) {
    let used = Used {
        user: what as u64,
        ..Used::default()
    };
    push(ControlKind::Misuse, used, name);
}

fn push_pause(arena: &Arena, paused: bool) {
    let kind = if paused {
        ControlKind::Pause
    } else {
        ControlKind::Resume
    };
    arena.push_call(process::pid(), kind, Used::default(), b"");
}

fn push(kind: ControlKind, used: Used, name: &[u8]) {
    if let Some(arena) = process::arena() {
        arena.push_call(process::pid(), kind, used, name);
    }
}

/// What the process has used so far.
fn used() -> Used {
    // SAFETY: rusage is plain data, valid when zeroed; the call fills it.
    let usage = unsafe {
        let mut usage: libc::rusage = std::mem::zeroed();
        libc::getrusage(libc::RUSAGE_SELF, &raw mut usage);
        usage
    };
    let nanos =
        |time: libc::timeval| time.tv_sec as u64 * 1_000_000_000 + time.tv_usec as u64 * 1000;
    Used {
        user: nanos(usage.ru_utime),
        system: nanos(usage.ru_stime),
        minor_faults: usage.ru_minflt as u64,
        major_faults: usage.ru_majflt as u64,
    }
}

/// The bytes of a C string, as many as a name has; none for NULL.
///
/// # Safety
/// NULL or a C string, unchanged while the result is used.
unsafe fn c_name<'a>(name: *const c_char) -> &'a [u8] {
    if name.is_null() {
        return b"";
    }
    // SAFETY: the caller's promise.
    unsafe { CStr::from_ptr(name) }.to_bytes()
}

/// The bytes of a string of Fortran, without the blanks at its end.
///
/// # Safety
/// NULL or `length` bytes, unchanged while the result is used.
unsafe fn fortran_name<'a>(name: *const c_char, length: usize) -> &'a [u8] {
    if name.is_null() {
        return b"";
    }
    // SAFETY: the caller's promise; fewer bytes are taken than there are.
    let bytes = unsafe { std::slice::from_raw_parts(name.cast::<u8>(), length.min(NAME_BYTES)) };
    bytes.trim_ascii_end()
}

#[unsafe(no_mangle)]
extern "C" fn collector_pause() {
    pause(true);
}

#[unsafe(no_mangle)]
extern "C" fn collector_resume() {
    pause(false);
}

#[unsafe(no_mangle)]
extern "C" fn collector_terminate_expt() {
    terminate();
}

#[unsafe(no_mangle)]
unsafe extern "C" fn collector_sample(name: *const c_char) {
    // SAFETY: the program's promise.
    sample(unsafe { c_name(name) });
}

#[unsafe(no_mangle)]
unsafe extern "C" fn collector_phase_begin(name: *const c_char) {
    // SAFETY: the program's promise.
    phase_begin(unsafe { c_name(name) });
}

#[unsafe(no_mangle)]
extern "C" fn collector_phase_end() {
    phase_end();
}

#[unsafe(no_mangle)]
extern "C" fn collector_pause_() {
    pause(true);
}

#[unsafe(no_mangle)]
extern "C" fn collector_resume_() {
    pause(false);
}

#[unsafe(no_mangle)]
extern "C" fn collector_terminate_expt_() {
    terminate();
}

#[unsafe(no_mangle)]
unsafe extern "C" fn collector_sample_(name: *const c_char, length: usize) {
    // SAFETY: Fortran passes the string's length.
    push(ControlKind::Sample, used(), unsafe {
        fortran_name(name, length)
    });
}

#[unsafe(no_mangle)]
unsafe extern "C" fn collector_phase_begin_(name: *const c_char, length: usize) {
    // SAFETY: Fortran passes the string's length.
    push(ControlKind::PhaseBegin, Used::default(), unsafe {
        fortran_name(name, length)
    });
}

#[unsafe(no_mangle)]
extern "C" fn collector_phase_end_() {
    push(ControlKind::PhaseEnd, Used::default(), b"");
}

/// The signals that our handlers handle: that of `-y` and that of `-l`; 0 for none.
static HANDLED: [AtomicI32; 2] = [const { AtomicI32::new(0) }; 2];

/// Installs handlers of the signals that `collect -y` and `-l` name, before the program begins.
extern "C" fn install_handlers() {
    // SAFETY: a C string goes in. What comes out is NULL or a C string in the environment, which nobody
    // changes while constructors run.
    let wanted = unsafe {
        let value = libc::getenv(SIGNALS_VARIABLE_C.as_ptr());
        if value.is_null() {
            return;
        }
        CStr::from_ptr(value).to_bytes()
    };
    if process::arena().is_none() {
        return;
    }
    let handlers = [on_pause as extern "C" fn(c_int), on_sample];
    let numbers = wanted.split(|byte| *byte == b' ').map(number);
    for ((signal, handler), handled) in numbers.zip(handlers).zip(&HANDLED) {
        if signal != 0 && install(signal, handler as usize) {
            handled.store(signal, Relaxed);
        }
    }
}

/// The number in decimal; 0 for anything else.
fn number(digits: &[u8]) -> c_int {
    let digits = std::str::from_utf8(digits).unwrap_or_default();
    digits.parse().unwrap_or(0)
}

/// Installs a handler, unless there is one.
fn install(signal: c_int, handler: usize) -> bool {
    let known = action(signal);
    if known.is_none_or(|known| known > libc::SIG_IGN) {
        return false;
    }
    // SAFETY: an action is plain data, valid when zeroed. The handler has the type of one, calls only
    // async-signal-safe functions, and is never unloaded.
    unsafe {
        let mut new: libc::sigaction = std::mem::zeroed();
        new.sa_sigaction = handler;
        new.sa_flags = libc::SA_RESTART | libc::SA_ONSTACK;
        libc::sigaction(signal, &raw const new, ptr::null_mut()) == 0
    }
}

/// The handler of a signal.
fn action(signal: c_int) -> Option<libc::sighandler_t> {
    // SAFETY: an action is plain data, valid when zeroed; the call only fills it.
    unsafe {
        let mut known: libc::sigaction = std::mem::zeroed();
        let result = libc::sigaction(signal, ptr::null(), &raw mut known);
        (result == 0).then_some(known.sa_sigaction)
    }
}

extern "C" fn on_pause(_: c_int) {
    keeping_errno(|| {
        if let Some(arena) = process::attached() {
            let paused = arena.toggle_paused();
            push_pause(arena, paused);
        }
    });
}

extern "C" fn on_sample(_: c_int) {
    keeping_errno(|| {
        if let Some(arena) = process::attached() {
            arena.push_call(process::pid(), ControlKind::SampleSignal, used(), b"");
        }
    });
}

fn keeping_errno(f: impl FnOnce()) {
    // SAFETY: the location is the thread's own, and valid while it lives.
    unsafe {
        let errno = *libc::__errno_location();
        f();
        *libc::__errno_location() = errno;
    }
}

/// Tells at the end of the program whether it has replaced our handlers.
extern "C" fn check_handlers() {
    let handlers = [on_pause as extern "C" fn(c_int), on_sample];
    for (handled, handler) in HANDLED.iter().zip(handlers) {
        let signal = handled.load(Relaxed);
        if signal != 0 && action(signal) != Some(handler as usize) {
            let used = Used {
                user: signal as u64,
                ..Used::default()
            };
            push(ControlKind::HandlerReplaced, used, b"");
        }
    }
}

// SAFETY: the loader calls each pointer of this section once, before `main`; the function needs nothing
// of Rust's runtime.
#[unsafe(link_section = ".init_array")]
#[used]
static AT_START: extern "C" fn() = install_handlers;

// SAFETY: likewise, when the program exits.
#[unsafe(link_section = ".fini_array")]
#[used]
static AT_END: extern "C" fn() = check_handlers;
