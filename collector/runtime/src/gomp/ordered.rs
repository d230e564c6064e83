//! Loops with an `ordered` clause.
//!
//! The runtime passes the turn on when a thread asks for its next chunk. If no `ordered` region of
//! the chunk has waited for the turn, it first waits there. The rest of that call is work of the
//! runtime. It takes long if the thread that it wakes gets the CPU at once, and must not be
//! recorded as a wait. So the wait is done by a call of GOMP_ordered_start, which only waits. The
//! call for the next chunk then finds the turn already taken.

use inside::{At, What};
use ompt::Function;

use super::provider::{self, Provider};
use super::{loops, sync, with};
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
    if !wait(provider, at, what) {
        with(|thread| {
            if thread.gomp.team > 1 {
                thread.turn_continues(what.kind(), sync::TURN, at.code());
            }
        });
    }
    // The function returns nothing.
    0
}

/// The next chunk of a loop with an `ordered` clause.
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
    loops::ordered_next(at, [a, b], more);
    more
}

/// Waits for the turn of the thread's chunk. Returns whether the thread may have had to.
fn wait(provider: &Provider, at: At, what: What) -> bool {
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
        with(|thread| thread.mutex_acquired(what.kind(), sync::TURN, at.code()));
    }
    waits
}
