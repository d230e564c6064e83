//! Loops with an `ordered` clause.
//!
//! The runtime hands the turn on where a thread asks for its next chunk, and there it waits for
//! the turn first if no `ordered` region of the chunk has done so. What follows is work of the
//! runtime's, and takes long where the thread that is woken gets the CPU at once: it must not
//! pass for a wait. So the wait is had from the function that has nothing else to do; the one for
//! the next chunk finds it done.

use super::entry::{At, What};
use super::provider::{self, Function, Provider};
use super::{sync, with};
use crate::thread::Thread;

type Real = unsafe extern "C-unwind" fn(usize, usize) -> usize;

/// An `ordered` region; the kind is `ompt_mutex_ordered`.
pub(super) unsafe extern "C-unwind" fn enter(a: usize, b: usize, at: At, what: What) -> usize {
    let provider = provider::of(what.function(), at.code());
    // SAFETY: a function of two arguments or less.
    let real = unsafe { provider.real::<Real>(what.function()) };
    if !provider.records() {
        // SAFETY: the caller's own arguments.
        return unsafe { real(a, b) };
    }
    wait(provider, at, what);
    // It returns nothing.
    0
}

/// The next chunk of such a loop.
pub(super) unsafe extern "C-unwind" fn next(a: usize, b: usize, at: At, what: What) -> usize {
    let provider = provider::of(what.function(), at.code());
    // SAFETY: a function of two arguments.
    let real = unsafe { provider.real::<Real>(what.function()) };
    if !provider.records() {
        // SAFETY: the caller's own arguments.
        return unsafe { real(a, b) };
    }
    wait(provider, at, what);
    let in_team = with(|thread| {
        thread.gomp.in_turn = false;
        let in_team = thread.gomp.team > 1;
        if in_team {
            thread.overhead_begin(at.code());
        }
        in_team
    });
    // SAFETY: the caller's own arguments.
    let more = unsafe { real(a, b) };
    if in_team {
        with(Thread::overhead_end);
    }
    more
}

/// Waits until it is the turn of the thread's chunk.
fn wait(provider: &Provider, at: At, what: What) {
    let waits = with(|thread| {
        let waits = thread.gomp.team > 1 && !thread.gomp.in_turn;
        if waits {
            thread.gomp.in_turn = true;
            thread.mutex_acquire(what.kind(), sync::TURN, at.code());
        }
        waits
    });
    let function = Function::GOMP_ordered_start as usize;
    // SAFETY: GOMP_ordered_start's type.
    unsafe { provider.real::<unsafe extern "C-unwind" fn()>(function)() };
    if waits {
        with(|thread| thread.mutex_acquired(what.kind(), sync::TURN));
    }
}
