//! Memory below the stack pointer: what a function finds there is undefined, so it is marked and filled as a
//! new heap block is ([`unwritten`]).
//!
//! Whatever a function finds in its frame that is still the pattern, neither its own prologue nor anybody
//! else has written. Memory is filled again once functions have used it: at the entry of a function that
//! begins below, at an access of one, and where a runtime begins a task.
#![allow(unsafe_code)]

use std::arch::naked_asm;

use crate::unwritten::{self, PATTERN};
use crate::{ompt, tls};

/// Fills the memory from `begin` up to its caller's stack pointer; 0: nothing.
#[unsafe(naked)]
pub(crate) unsafe extern "C" fn fill_from(_begin: u64) {
    naked_asm!(
        "test rdi, rdi",
        "jz 2f",
        "mov rcx, rsp",
        "sub rcx, rdi",
        "jbe 2f",
        "shr rcx, 3",
        "movabs rax, {pattern}",
        "rep stosq",
        "2:",
        "ret",
        pattern = const PATTERN as i64,
    )
}

/// The stack pointer, about.
#[inline(always)]
pub(crate) fn pointer() -> u64 {
    let pointer: u64;
    // SAFETY: reads a register.
    unsafe {
        std::arch::asm!("mov {}, rsp", out(reg) pointer, options(nomem, nostack, preserves_flags));
    }
    pointer
}

/// Bytes below the stack pointer that a call of this library, or of the C library's allocator, uses.
pub(crate) const OF_LIBRARY: u64 = 512;

/// This library was called by code that goes on, and leaves something below the stack pointer.
pub(crate) fn note_use() {
    // SAFETY: the method calls neither the program nor a runtime.
    if let Some(thread) = unsafe { tls::existing() } {
        thread.note_use_from(pointer().saturating_sub(OF_LIBRARY));
    }
}

/// Bytes below a task's first frame that its runtime has used.
const OF_RUNTIME: u64 = 4096;

/// The begin of the memory below `stack` where a task begins; 0: none.
extern "C" fn below_task(stack: u64) -> u64 {
    if !unwritten::is_on() {
        return 0;
    }
    // SAFETY: the method calls neither the program nor a runtime.
    unsafe { tls::existing() }.map_or(0, |thread| thread.undefine_below(stack, OF_RUNTIME))
}

/// The caller is about to call a task's function.
#[inline(always)]
pub(crate) fn begin_task() {
    if unwritten::is_on() {
        let begin = below_task(pointer());
        // SAFETY: memory of this thread's stack, below the pointer: nobody's.
        unsafe { fill_from(begin) };
    }
}

/// A callback of a runtime that is about to call a task's function: as `$to`, and what lies below its
/// caller's frame is undefined then.
macro_rules! before_task {
    ($($name:ident $to:path;)*) => {$(
        #[unsafe(naked)]
        pub(crate) unsafe extern "C" fn $name() {
            naked_asm!(
                "sub rsp, 8",
                "call {to}",
                "lea rdi, [rsp + 8]",
                "call {below}",
                "add rsp, 8",
                "mov rdi, rax",
                "jmp {fill}",
                to = sym $to,
                below = sym below_task,
                fill = sym fill_from,
            )
        }
    )*};
}

before_task! {
    implicit_task ompt::implicit_task;
    task_schedule ompt::task_schedule;
}
