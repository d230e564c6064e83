//! The current thread's state, behind its [`pointer`].
#![allow(unsafe_code)]

use std::mem::MaybeUninit;

use crate::context::Contexts;
use crate::memory::{self, Zeroed};
use crate::pointer;
use crate::thread::Thread;

/// The pointer of a thread for which there is no slot: not asked for again.
const REFUSED: usize = 1;

/// Calls `f` with the calling thread's state, made now if this is the thread's first event.
/// The default of `R` where the thread could get none.
#[inline(always)]
pub(crate) fn with<R: Default>(f: impl FnOnce(&mut Thread) -> R) -> R {
    // SAFETY: no event arises within an event of the same thread (`f` calls nothing of the
    // runtime), so this is the only reference.
    match unsafe { current() } {
        Some(thread) => f(thread),
        None => R::default(),
    }
}

/// The calling thread's state, as [`with`] gives it: for what is called so often that a closure
/// which the compiler makes a function of its own is felt.
///
/// # Safety
/// There is no other reference to it on this thread as long as this one is used: neither
/// the program nor the runtime may be called meanwhile.
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
    // SAFETY: the pointer came from `attach` on this thread and is withdrawn before its
    // memory is. The caller promises that it is the only reference.
    Some(unsafe { &mut *(pointer as *mut Thread) })
}

/// All of a thread's memory. The state is first, so that a pointer to it is one to the block.
#[repr(C)]
struct Block {
    thread: MaybeUninit<Thread>,
    contexts: Contexts,
}

// SAFETY: `Contexts` is made of integers, and `MaybeUninit` takes anything.
unsafe impl Zeroed for Block {}

#[cold]
#[inline(never)]
fn attach() -> usize {
    let pointer = new_thread().map_or(REFUSED, |thread| thread as usize);
    pointer::set(pointer);
    pointer
}

fn new_thread() -> Option<*mut Thread> {
    let block = memory::map::<Block>()?;
    // SAFETY: the mapping is zeroed, which is a valid `Contexts`. The reference lives in the
    // state beside it, and both are given up together: here or in `end`.
    unsafe {
        let Some(thread) = Thread::new(&mut (*block).contexts) else {
            memory::unmap(block);
            return None;
        };
        Some((*block).thread.write(thread))
    }
}

/// Ends the calling thread's state, if it has any: `last` sees it for the last time. An event
/// that comes later nevertheless starts anew.
pub(crate) fn end(last: impl FnOnce(&mut Thread)) {
    let pointer = pointer::get();
    pointer::set(0);
    if pointer > REFUSED {
        let thread = pointer as *mut Thread;
        // SAFETY: as in `with`; the state was withdrawn above, so it is dropped once and nothing
        // refers to its memory afterwards. `Block` is `repr(C)` with the state first.
        unsafe {
            last(&mut *thread);
            thread.drop_in_place();
            memory::unmap(thread.cast::<Block>());
        }
    }
}
