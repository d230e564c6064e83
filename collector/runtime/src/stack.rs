//! Reading the calling thread's own stack: by plain loads where addresses are known, by the
//! unwinder of the C++ ABI where they are not.
//!
//! libgcc's unwinder is used because the process has it anyway, it handles every frame that
//! `.eh_frame` can describe, realigned ones included, and since glibc 2.35 finds objects without
//! a lock. It costs 50 to 100 ns a frame, once for a context.
#![allow(unsafe_code)]

use std::ffi::{c_int, c_void};
use std::ops::Range;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

/// A return address and where on the stack it lies.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(C)]
pub(crate) struct Frame {
    /// The place of the return address; 0 where it is not known.
    pub(crate) slot: u64,
    /// The return address.
    pub(crate) ip: u64,
}

impl Frame {
    /// Makes this one that [`is_same`] always finds unchanged: its place is itself.
    pub(crate) fn fill(&mut self) {
        self.ip = 0;
        self.slot = (&raw const self.ip) as u64;
    }
}

/// What an unwind found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Walk {
    /// Frames stored, from the start of the buffer.
    pub(crate) frames: usize,
    /// The walk ended at the thread's first frame.
    pub(crate) complete: bool,
}

#[link(name = "gcc_s")]
unsafe extern "C" {
    fn _Unwind_Backtrace(
        trace: extern "C" fn(*mut c_void, *mut c_void) -> c_int,
        data: *mut c_void,
    ) -> c_int;
    fn _Unwind_GetIP(context: *mut c_void) -> usize;
    fn _Unwind_GetCFA(context: *mut c_void) -> usize;
}

/// `_URC_NO_REASON`: go on.
const GO_ON: c_int = 0;
/// `_URC_END_OF_STACK`: stop here.
const STOP: c_int = 5;

struct Trace<'a> {
    buffer: &'a mut [Frame],
    walk: Walk,
}

/// Unwinds the calling thread into `buffer`, leaf first, starting with this library's own
/// frames. Stops when the buffer is full.
#[inline(never)]
pub(crate) fn walk(buffer: &mut [Frame]) -> Walk {
    let mut trace = Trace {
        buffer,
        walk: Walk {
            frames: 0,
            complete: false,
        },
    };
    // SAFETY: `visit` has the type that the ABI asks for, and `trace` outlives the call.
    unsafe { _Unwind_Backtrace(visit, (&raw mut trace).cast()) };
    trace.walk
}

extern "C" fn visit(context: *mut c_void, trace: *mut c_void) -> c_int {
    // SAFETY: `walk` passed its own local, and the unwinder its own context.
    let (trace, ip, cfa) = unsafe {
        (
            &mut *trace.cast::<Trace<'_>>(),
            _Unwind_GetIP(context) as u64,
            // The CFA of the frame below, which is this frame's stack pointer at the call.
            _Unwind_GetCFA(context) as u64,
        )
    };
    if ip == 0 {
        trace.walk.complete = true;
        return STOP;
    }
    let Some(place) = trace.buffer.get_mut(trace.walk.frames) else {
        return STOP;
    };
    *place = Frame {
        slot: slot_below(cfa, ip),
        ip,
    };
    trace.walk.frames += 1;
    GO_ON
}

/// The place of return address `ip` under the CFA `cfa` of the frame that will return to it.
#[cfg(target_arch = "x86_64")]
fn slot_below(cfa: u64, ip: u64) -> u64 {
    let slot = cfa.wrapping_sub(8);
    // A return address is what `call` pushed: just below the CFA, in the psABI and in every
    // frame but a signal's.
    let holds = cfa.is_multiple_of(8)
        // SAFETY: the unwinder has just read the frame that ends at its CFA.
        && unsafe { (slot as *const u64).read_volatile() } == ip;
    if holds { slot } else { 0 }
}

/// Elsewhere a return address may live in a register, and the unwinder does not tell where.
#[cfg(not(target_arch = "x86_64"))]
fn slot_below(_cfa: u64, _ip: u64) -> u64 {
    0
}

/// Whether [`is_same`] may look `frames` up later: each place known, in the part of this
/// thread's stack that is in use, and farther out than the one before.
pub(crate) fn can_be_cached(frames: &[Frame]) -> bool {
    let here = 0u8;
    let mut last = (&raw const here) as u64;
    let top = stack_top(last);
    frames.iter().all(|frame| {
        let farther = frame.slot > last && frame.slot < top;
        last = frame.slot;
        farther
    })
}

/// How many frames [`is_same`] compares at a time.
pub(crate) const GROUP: usize = 4;

/// Whether the return addresses are where they were. `frames` passed [`can_be_cached`] on this
/// thread, and are [filled](Frame::fill) up to a multiple of [`GROUP`]; `own` is its
/// [`own_stack`].
///
/// How many frames there are is not foreseen by a processor that has just waited in a loop, as it
/// has where a region is forked: one branch a frame and a wrong guess at the last one would cost
/// as much as all the rest.
#[inline]
pub(crate) fn is_same(frames: &[Frame], own: &Range<u64>) -> bool {
    let here = 0u8;
    let here = (&raw const here) as u64;
    if frames.first().is_none_or(|frame| frame.slot <= here) {
        return false;
    }
    // SAFETY: the places lie in this thread's stack, between its live end and the upper end, which
    // does not move; or in the frames themselves.
    let differs = |frame: &Frame| unsafe { (frame.slot as *const u64).read_volatile() ^ frame.ip };
    let (groups, rest) = frames.as_chunks::<GROUP>();
    if own.contains(&here) {
        return rest.is_empty()
            && groups.iter().all(|[a, b, c, d]| {
                // All of the stack beyond `here` can be read.
                differs(a) | differs(b) | differs(c) | differs(d) == 0
            });
    }
    // The thread may be on a stack of the program's own making (a coroutine's) that is smaller
    // now: the search is leaf first and ends at the first difference. As long as all places hold
    // the same return addresses, the same functions have called each other at the same depths,
    // and the next place is where the last of them was called from, in a live frame.
    frames.iter().all(|frame| differs(frame) == 0)
}

/// Addresses that certainly lie on the stack that the calling thread was started with: what is in
/// use there is mapped as a whole up to the range's end. Empty where none are known.
pub(crate) fn own_stack(is_initial: bool) -> Range<u64> {
    /// The kernel maps nothing else that near below the initial thread's stack (`mmap_base`).
    const GAP: u64 = 128 << 20;
    /// `PTHREAD_STACK_MIN` less the control block: no stack that a thread is given is smaller.
    const LEAST: u64 = 12 << 10;
    // The initial thread's control block is not on its stack, and anything may lie below it.
    let (top, size) = match is_initial {
        true => (INITIAL_TOP.load(Relaxed), GAP),
        false => (thread_register(), LEAST),
    };
    top.saturating_sub(size)..top
}

/// An upper bound of the stack that holds `here`; 0 where none is known.
///
/// The C library puts the thread's control block, to which the thread register points, at the
/// upper end of a thread's stack. The initial thread's stack has the loader's mark instead, and
/// lies above its control block.
fn stack_top(here: u64) -> u64 {
    let block = thread_register();
    if block > here {
        block
    } else {
        INITIAL_TOP.load(Relaxed)
    }
}

#[cfg(target_arch = "x86_64")]
fn thread_register() -> u64 {
    let value: u64;
    // SAFETY: the x86-64 ABI keeps a pointer to the control block in its first word.
    unsafe {
        core::arch::asm!(
            "mov {value}, qword ptr fs:[0]",
            value = out(reg) value,
            options(nostack, readonly, preserves_flags),
        );
    }
    value
}

#[cfg(not(target_arch = "x86_64"))]
fn thread_register() -> u64 {
    0
}

/// The upper end of the initial thread's stack; 0 where the loader does not tell.
static INITIAL_TOP: AtomicU64 = AtomicU64::new(0);

/// Finds the initial thread's stack. Called before the first callback.
pub(crate) fn prepare() {
    // SAFETY: looks for a variable of glibc's loader by its name.
    let end = unsafe { libc::dlsym(libc::RTLD_DEFAULT, c"__libc_stack_end".as_ptr()) };
    if !end.is_null() {
        // SAFETY: the variable is a pointer, constant since the process started.
        INITIAL_TOP.store(unsafe { *end.cast::<u64>() }, Relaxed);
    }
}
