//! The current thread's state, and the thread-local pointer to it.
#![allow(unsafe_code)]

use inside::memory;

use crate::process;
use crate::thread::{Block, Thread};

inside::thread_word!(pointer "parallax_race_thread");

use pointer::{get, set};

/// Whether the calling thread has a state, or is not recorded.
#[inline]
pub(crate) fn is_known() -> bool {
    get() != 0
}

/// The pointer of a thread that is not recorded, and does not try again.
pub(crate) const REFUSED: usize = 1;

/// The calling thread's state, if it has one.
///
/// # Safety
/// No other reference to the state may be in use on this thread. So neither the program nor a
/// runtime may be called meanwhile; a signal's handler is kept out by [`Thread::enter`].
#[inline(always)]
pub(crate) unsafe fn existing<'a>() -> Option<&'a mut Thread> {
    let pointer = get();
    if pointer <= REFUSED {
        return None;
    }
    // SAFETY: `attach` has set the pointer on this thread to a state that lives until `end`.
    Some(unsafe { &mut *(pointer as *mut Thread) })
}

/// Calls `f` with the calling thread's state, which is made at the thread's first event. Returns the
/// default of `R` if the thread is not recorded, or if the call comes from a signal handler that
/// has interrupted another one.
#[inline]
pub(crate) fn with<R: Default>(f: impl FnOnce(&mut Thread) -> R) -> R {
    if get() == 0 {
        attach(0);
    }
    // SAFETY: `f` calls neither the program nor a runtime.
    match unsafe { existing() } {
        Some(thread) => thread.enter(f).unwrap_or_default(),
        None => {
            process::note_unchecked();
            R::default()
        }
    }
}

/// Makes the state of the calling thread, whose creator has signalled `created`; 0: unknown. Does
/// nothing if there is one.
#[cold]
#[inline(never)]
pub(crate) fn attach(created: u64) {
    if get() != 0 || process::is_early() {
        return;
    }
    // What is called here may allocate, and our own allocator asks for the state.
    set(REFUSED);
    let Some(shared) = process::shared() else {
        return;
    };
    let Some(block) = memory::map_static::<Block>() else {
        return;
    };
    // Without a slot, which the stream counts, the block stays mapped: addresses, and no memory.
    if let Some(thread) = Thread::new(shared, block, created) {
        set(std::ptr::from_mut(thread) as usize);
    }
}

/// Ends the calling thread's recording. What it does later is not recorded.
pub(crate) fn end() {
    // SAFETY: the reference is dropped here, and the pointer is reset before the memory goes.
    if let Some(thread) = unsafe { existing() } {
        thread.end();
        let block = thread.block();
        set(REFUSED);
        // SAFETY: nothing refers to the block any more.
        unsafe { memory::unmap(block) };
    }
}

/// Forgets the state without ending it: in the child of a fork it is a copy of the parent's.
pub(crate) fn forget() {
    set(REFUSED);
}
