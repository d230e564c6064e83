//! Threads that the program creates: each begins to sample itself before it runs the program's
//! function. Threads that are created otherwise begin at their first OpenMP event.

use std::arch::naked_asm;
use std::ffi::{c_int, c_void};
use std::mem::transmute;
use std::sync::atomic::Ordering::{Acquire, Relaxed, Release};
use std::sync::atomic::{AtomicBool, AtomicUsize};

use inside::next::Next;

use super::{FILE, signals};

type Routine = extern "C" fn(*mut c_void) -> *mut c_void;
type PthreadCreate = unsafe extern "C" fn(
    *mut libc::pthread_t,
    *const libc::pthread_attr_t,
    Routine,
    *mut c_void,
) -> c_int;

static PTHREAD_CREATE: Next = Next::new(c"pthread_create");

/// The most threads that are between their creation and their begin.
const STARTING: usize = 256;

/// A thread with a smaller stack is not sampled: it may use all of it but a few hundred bytes.
const LEAST_STACK: usize = 64 << 10;

/// The function of a thread that has not begun yet, and its argument.
struct Start {
    is_taken: AtomicBool,
    has_room: AtomicBool,
    routine: AtomicUsize,
    argument: AtomicUsize,
}

static STARTS: [Start; STARTING] = [const {
    Start {
        is_taken: AtomicBool::new(false),
        has_room: AtomicBool::new(false),
        routine: AtomicUsize::new(0),
        argument: AtomicUsize::new(0),
    }
}; STARTING];

/// Looks the C library's function up.
pub(super) fn resolve() {
    real();
}

fn real() -> Option<PthreadCreate> {
    // SAFETY: the address of the C library's function of this name.
    let cast = |address| unsafe { transmute::<usize, PthreadCreate>(address) };
    PTHREAD_CREATE.address().map(cast)
}

/// Creates a thread that samples itself, if the process is sampled.
///
/// # Safety
/// That of pthread_create(3).
#[unsafe(no_mangle)]
unsafe extern "C" fn pthread_create(
    thread: *mut libc::pthread_t,
    attributes: *const libc::pthread_attr_t,
    routine: Routine,
    argument: *mut c_void,
) -> c_int {
    let Some(real) = real() else {
        return libc::EAGAIN;
    };
    let start = FILE.get().and_then(|_| {
        STARTS
            .iter()
            .find(|start| !start.is_taken.swap(true, Acquire))
    });
    let Some(start) = start else {
        // SAFETY: the caller's arguments.
        return unsafe { real(thread, attributes, routine, argument) };
    };
    start.routine.store(routine as usize, Relaxed);
    start.argument.store(argument.expose_provenance(), Relaxed);
    // SAFETY: the caller's promise about the attributes.
    let size = unsafe { stack_size(attributes) };
    start.has_room.store(size >= LEAST_STACK, Relaxed);
    let entry = (&raw const *start).cast_mut().cast();
    // SAFETY: the caller's arguments, but for a function of the same type and its argument.
    let result = unsafe { real(thread, attributes, begin, entry) };
    if result != 0 {
        start.is_taken.store(false, Release);
    }
    signals::keep();
    result
}

/// The size of the stack of a thread with these attributes; NULL: with those that threads have by default.
///
/// # Safety
/// NULL or attributes.
unsafe fn stack_size(attributes: *const libc::pthread_attr_t) -> usize {
    let mut size = 0;
    // SAFETY: the caller's promise, or attributes that are made here; the functions fill local variables.
    unsafe {
        if attributes.is_null() {
            let mut usual: libc::pthread_attr_t = std::mem::zeroed();
            libc::pthread_attr_init(&raw mut usual);
            libc::pthread_attr_getstacksize(&raw const usual, &raw mut size);
            libc::pthread_attr_destroy(&raw mut usual);
        } else {
            libc::pthread_attr_getstacksize(attributes, &raw mut size);
        }
    }
    size
}

/// A thread's function and its argument, as two registers return them.
#[repr(C)]
struct Call {
    routine: usize,
    argument: usize,
}

/// Frees the entry, and begins to sample the thread.
extern "C" fn begin_with(start: &Start) -> Call {
    let call = Call {
        routine: start.routine.load(Relaxed),
        argument: start.argument.load(Relaxed),
    };
    let has_room = start.has_room.load(Relaxed);
    start.is_taken.store(false, Release);
    super::begin(false, has_room);
    call
}

/// The first function of a thread: jumps to the program's, so that no frame of ours is on its stack.
#[unsafe(naked)]
extern "C" fn begin(_start: *mut c_void) -> *mut c_void {
    naked_asm!(
        ".cfi_startproc",
        "sub rsp, 8",
        ".cfi_def_cfa_offset 16",
        "call {begin_with}",
        "add rsp, 8",
        ".cfi_def_cfa_offset 8",
        "mov rdi, rdx",
        "jmp rax",
        ".cfi_endproc",
        begin_with = sym begin_with,
    )
}
