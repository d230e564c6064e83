//! Loops whose iterations depend on each other (`ordered(n)`, doacross).

use super::entry::{At, Saved, What};
use super::provider;
use super::with;

/// Arguments that travel in registers.
const IN_REGISTERS: u32 = 6;

/// What the entry point is to do next.
#[repr(C)]
pub(super) struct Next {
    /// The real function.
    real: usize,
    /// Words of the stack to pass on; [`Next::JUMP`]: nothing is recorded.
    words: usize,
}

impl Next {
    const JUMP: usize = usize::MAX;
}

/// A loop is entered: its first argument is the number of its dimensions. Returns the real
/// function.
pub(super) unsafe extern "C-unwind" fn note(saved: *const Saved, what: What) -> usize {
    // SAFETY: the entry point's own.
    let saved = unsafe { &*saved };
    let provider = provider::of(what.function(), saved.at().code());
    if provider.records() {
        with(|thread| thread.gomp.dimensions = saved.registers[0] as u32);
    }
    provider.address(what.function())
}

/// A thread may have to wait for an iteration.
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

/// It has waited.
pub(super) unsafe extern "C-unwind" fn end() {
    with(|thread| thread.mutex_acquired(ORDERED, NOBODYS));
}

/// An iteration that is waited for is no mutex that a thread holds.
pub(super) const NOBODYS: u64 = 0;
/// `ompt_mutex_ordered` of `ompt_mutex_t`.
const ORDERED: u32 = 7;
