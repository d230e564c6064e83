//! The current thread's state: one pointer of thread-local storage.
//!
//! On x86-64 the pointer is addressed by the initial-exec model, one load through the thread
//! register. Rust's own `thread_local!` in a shared library calls `__tls_get_addr`, which costs
//! as much as the rest of an event and may allocate on a thread's first access. The price is
//! static TLS, of which the loader keeps only a little for libraries that come late
//! (`OMP_TOOL_LIBRARIES` is a `dlopen`); hence one pointer and no more.
#![allow(unsafe_code)]

use std::mem::MaybeUninit;

use crate::context::Contexts;
use crate::memory::{self, Zeroed};
use crate::thread::Thread;

/// The pointer of a thread for which there is no slot: not asked for again.
const REFUSED: usize = 1;

#[cfg(target_arch = "x86_64")]
mod pointer {
    core::arch::global_asm!(
        ".pushsection .tbss.parallax_thread,\"awT\",@nobits",
        ".p2align 3",
        ".globl parallax_thread",
        ".hidden parallax_thread",
        ".type parallax_thread,@object",
        ".size parallax_thread, 8",
        "parallax_thread: .zero 8",
        ".popsection",
    );

    #[inline(always)]
    pub(super) fn get() -> usize {
        let value: usize;
        // SAFETY: loads the symbol's offset from the thread register and then the word there,
        // which exists in every thread because the symbol lies in this library's TLS segment.
        unsafe {
            core::arch::asm!(
                "mov {value}, qword ptr [rip + parallax_thread@GOTTPOFF]",
                "mov {value}, qword ptr fs:[{value}]",
                value = out(reg) value,
                options(nostack, readonly, preserves_flags),
            );
        }
        value
    }

    #[inline]
    pub(super) fn set(value: usize) {
        // SAFETY: as in `get`; the word is this thread's and no reference to it exists.
        unsafe {
            core::arch::asm!(
                "mov {at}, qword ptr [rip + parallax_thread@GOTTPOFF]",
                "mov qword ptr fs:[{at}], {value}",
                at = out(reg) _,
                value = in(reg) value,
                options(nostack, preserves_flags),
            );
        }
    }
}

#[cfg(not(target_arch = "x86_64"))]
mod pointer {
    use std::cell::Cell;

    thread_local!(static THREAD: Cell<usize> = const { Cell::new(0) });

    pub(super) fn get() -> usize {
        THREAD.get()
    }

    pub(super) fn set(value: usize) {
        THREAD.set(value);
    }
}

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

/// Forgets the calling thread's state without ending it: in the child of a fork it is a copy of
/// the parent's, whose ring the parent goes on using.
pub(crate) fn forget() {
    pointer::set(0);
}
