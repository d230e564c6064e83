//! The current thread's state, and the pointer to it.
#![allow(unsafe_code)]

use std::mem::MaybeUninit;

use inside::context::Contexts;
use inside::memory::{self, Zeroed};
use omp_ring::producer::Producer;

use crate::process;
use crate::thread::Thread;

inside::thread_word!(pointer "parallax_thread");

/// The pointer of a thread that got no slot. It does not try again.
const REFUSED: usize = 1;

/// Calls `f` with the calling thread's state, which is created at the thread's first event. Returns
/// the default of `R` if the thread has none.
#[inline(always)]
pub(crate) fn with<R: Default>(f: impl FnOnce(&mut Thread) -> R) -> R {
    // SAFETY: the state is reached only through `with`, `current` and `end` on this thread. `f`
    // calls neither the program nor the runtime, so none of them is entered again while it runs. A
    // signal handler does not enter either: OpenMP's constructs and routines are not
    // async-signal-safe.
    match unsafe { current() } {
        Some(thread) => f(thread),
        None => R::default(),
    }
}

/// The calling thread's state, as for [`with`]. For callers that are called so often that it matters
/// whether the compiler inlines a closure.
///
/// # Safety
/// No other reference to the state may exist on this thread while this one is in use. So neither the
/// program nor the runtime may be called meanwhile.
#[inline(always)]
pub(crate) unsafe fn current<'a>() -> Option<&'a mut Thread> {
    let mut pointer = pointer::get();
    if pointer <= REFUSED {
        if pointer == REFUSED {
            return None;
        }
        pointer = attach();
        if pointer == REFUSED {
            return None;
        }
    }
    // SAFETY: `attach` set the pointer on this thread to an initialised state, and `end` resets it
    // before it unmaps the state. The caller promises that this is the only reference.
    Some(unsafe { &mut *(pointer as *mut Thread) })
}

/// All of a thread's memory. The state is first: a pointer to it is also one to the block.
#[repr(C)]
struct Block {
    thread: MaybeUninit<Thread>,
    contexts: Contexts,
}

// SAFETY: `Contexts` consists of integers, and `MaybeUninit` permits any bytes.
unsafe impl Zeroed for Block {}

#[cold]
#[inline(never)]
fn attach() -> usize {
    let pointer = new_thread().map_or(REFUSED, |thread| thread as usize);
    pointer::set(pointer);
    pointer
}

/// Claims a slot for the calling thread. `None` without an arena or a free slot.
fn new_thread() -> Option<*mut Thread> {
    let arena = process::attached()?;
    let block = memory::map::<Block>()?;
    process::register_again();
    #[cfg(target_arch = "x86_64")]
    crate::sampler::begin_thread();
    let (pid, tid) = process::numbers();
    // SAFETY: the mapping is new, so nothing else refers to it, and zeroed, which is a valid
    // `Contexts`. Only the state in the same block holds the reference to it, and `end` drops that
    // state before it unmaps the block. Without a state the block is unmapped here.
    unsafe {
        let Some(producer) = Producer::claim(arena, pid, tid) else {
            memory::unmap(block);
            return None;
        };
        let contexts = &mut (*block).contexts;
        contexts.begin(tid == pid, producer.reads_python());
        Some((*block).thread.write(Thread::new(contexts, producer)))
    }
}

/// Drops the calling thread's state, if it has one, after a call of `last` with it. A later event
/// creates a new state.
pub(crate) fn end(last: impl FnOnce(&mut Thread)) {
    let pointer = pointer::get();
    pointer::set(0);
    if pointer > REFUSED {
        let thread = pointer as *mut Thread;
        // SAFETY: as in `with`, no other reference exists. The pointer was reset above, so the
        // state is dropped once and nothing finds its memory afterwards. `Block` is `repr(C)` with
        // the state first, so the pointer is that which `map` returned.
        unsafe {
            last(&mut *thread);
            thread.drop_in_place();
            memory::unmap(thread.cast::<Block>());
        }
    }
}

/// Forgets the calling thread's state without dropping it. In the child of a fork it is a copy of
/// the parent's, and the parent continues to use the ring.
pub(crate) fn forget() {
    pointer::set(0);
}
