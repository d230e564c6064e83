//! Doacross loops (`ordered(n)`): loops with dependences between iterations.

use super::entry::{At, What};
use super::provider;
use super::with;

/// Number of arguments passed in registers.
const IN_REGISTERS: u32 = 6;

/// Tells the entry point what to do next.
#[repr(C)]
pub(super) struct Next {
    /// The real function.
    real: usize,
    /// Number of stack words to copy; [`Next::JUMP`]: tail jump, nothing is recorded.
    words: usize,
}

impl Next {
    const JUMP: usize = usize::MAX;
}

/// Before the runtime's function that may wait for an iteration.
pub(super) unsafe extern "C-unwind" fn begin(at: At, what: What) -> Next {
    let provider = provider::of(what.function(), at.code());
    let mut words = Next::JUMP;
    if provider.records() {
        let dimensions = with(|thread| {
            let dimensions = thread.gomp.dimensions;
            if dimensions > 0 && thread.gomp.team > 1 {
                thread.mutex_acquire(what.kind(), NOBODYS, at.code());
                dimensions
            } else {
                0
            }
        });
        if dimensions > 0 {
            words = dimensions.saturating_sub(IN_REGISTERS) as usize;
        }
    }
    Next {
        real: provider.address(what.function()),
        words,
    }
}

/// After the wait.
pub(super) unsafe extern "C-unwind" fn end() {
    with(|thread| thread.mutex_acquired(ORDERED, NOBODYS, 0));
}

/// Mutex id of a wait for an iteration: no thread holds it.
pub(super) const NOBODYS: u64 = 0;
/// `ompt_mutex_ordered` of `ompt_mutex_t`.
const ORDERED: u32 = 7;
