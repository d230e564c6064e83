//! Records a wait that LLVM's runtime does not report to tools: for an iteration of a doacross
//! loop. Its callback for dependences comes after the wait, and there is no other.
//!
//! The entry point is LLVM's, but it is interposed like all others here.

use super::doacross::NOBODYS;
use super::entry::{Saved, What};
use super::provider;
use crate::tls;

/// The location, the thread's global number, the iteration.
type Wait = unsafe extern "C-unwind" fn(usize, usize, usize);

/// Calls the function that may wait for an iteration. Recorded if the runtime has announced the
/// thread.
pub(super) unsafe extern "C-unwind" fn doacross_wait(saved: *mut Saved, what: What) {
    // SAFETY: the entry point's own.
    let saved = unsafe { &*saved };
    let [location, thread_number, iteration, ..] = saved.registers;
    let code = saved.at().code();
    let address = provider::bound(what.function(), code);
    // SAFETY: the function of that name, which is of this type.
    let real = unsafe { std::mem::transmute::<usize, Wait>(address) };
    let records = tls::with(|thread| {
        let records = thread.is_announced();
        if records {
            thread.mutex_acquire(what.kind(), NOBODYS, code);
        }
        records
    });
    // SAFETY: the caller's own arguments.
    unsafe { real(location, thread_number, iteration) };
    if records {
        tls::with(|thread| thread.mutex_acquired(what.kind(), NOBODYS));
    }
}
