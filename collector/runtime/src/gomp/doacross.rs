//! Doacross loops (`ordered(n)`): loops with dependences between iterations.

use inside::{Around, Onward, What};
use ompt::numbers::mutex;

use super::provider;
use super::with;

/// Before the runtime's function that may wait for an iteration.
pub(super) unsafe extern "C-unwind" fn begin(around: *mut Around, what: What) -> Onward {
    // SAFETY: the entry point's own frame.
    let at = unsafe { &*around }.at();
    let provider = provider::of(what.function(), at.code());
    let real = provider.address(what.function());
    let dimensions = if provider.records() {
        with(|thread| {
            let dimensions = thread.gomp.dimensions;
            if dimensions > 0 && thread.gomp.team > 1 {
                thread.mutex_acquire(what.kind(), NOBODYS, at.code());
                dimensions
            } else {
                0
            }
        })
    } else {
        0
    };
    match dimensions {
        0 => Onward::jump(real),
        dimensions => Onward::call(real, dimensions),
    }
}

/// After the wait.
pub(super) unsafe extern "C-unwind" fn end(_: *mut Around, result: usize) -> usize {
    with(|thread| thread.mutex_acquired(ORDERED, NOBODYS, 0));
    result
}

/// Mutex id of a wait for an iteration: no thread holds it.
pub(super) const NOBODYS: u64 = 0;
/// `ompt_mutex_ordered` of `ompt_mutex_t`.
const ORDERED: u32 = mutex::ORDERED as u32;
