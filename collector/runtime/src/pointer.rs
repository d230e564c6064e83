//! The pointer to the current thread's state, the only thread-local variable of the library.
//!
//! On x86-64 it uses the initial-exec model: one load through the thread register. Rust's
//! `thread_local!` in a shared library calls `__tls_get_addr`, which costs as much as the rest of an
//! event, and may allocate on a thread's first access. Initial-exec needs static TLS, of which the
//! loader reserves only a little for libraries that are opened later (as by `OMP_TOOL_LIBRARIES`).
//! So there is one pointer and no more.
#![allow(unsafe_code)]

pub(crate) use arch::{get, set};

#[cfg(target_arch = "x86_64")]
mod arch {
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
    pub(crate) fn get() -> usize {
        let value: usize;
        // SAFETY: loads the symbol's offset from the global offset table, and then the word at that
        // offset from the thread register. The loader fills the slot of the table, and the word
        // exists in every thread, because the symbol lies in this library's TLS segment.
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
    pub(crate) fn set(value: usize) {
        // SAFETY: as in `get`. Only this thread accesses the word, and only by `get` and `set`, so no
        // reference to it exists.
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
mod arch {
    use std::cell::Cell;

    thread_local!(static THREAD: Cell<usize> = const { Cell::new(0) });

    pub(crate) fn get() -> usize {
        THREAD.get()
    }

    pub(crate) fn set(value: usize) {
        THREAD.set(value);
    }
}

/// Forgets the calling thread's state without dropping it. In the child of a fork it is a copy of
/// the parent's, and the parent continues to use the ring.
pub(crate) fn forget() {
    set(0);
}
