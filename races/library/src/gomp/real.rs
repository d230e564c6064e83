//! The real functions: those of the runtime of the call.

use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

use inside::objects::library_of;
use inside::provider::{self, Client, Provider};
use inside::{Saved, What};
use ompt::{Function, NAMES};

use crate::{objects, process, tls};

/// What the checks do with the runtimes that are found.
struct Checker;

impl Client for Checker {
    fn records(_address: u64) -> bool {
        process::shared().is_some()
    }

    fn found(_: &Provider, address: u64, records: bool) {
        if records {
            objects::note_runtime(library_of(address));
        }
    }

    fn current() -> Option<&'static Provider> {
        tls::with(|thread| thread.place.provider)
    }
}

/// The addresses of the functions by number, while all callers have one runtime; 0: not known. The bit [`RECORDED`]
/// marks functions whose calls the checks record.
pub(crate) static ADDRESSES: [AtomicUsize; NAMES.len()] =
    [const { AtomicUsize::new(0) }; NAMES.len()];

/// As [`inside::guarded`] has it.
const RECORDED: usize = 1 << 63;

/// The word of [`ADDRESSES`] for function number `function`, as code at `hint` calls it.
#[cold]
pub(crate) extern "C" fn resolve(function: u32, hint: u64) -> usize {
    let index = function as usize;
    let runtime = provider::of::<Checker>(index, hint);
    let is_of_locks = NAMES.get(index).is_some_and(|name| ompt::is_of_locks(name));
    // LLVM's runtime aborts within many wrong calls of them, before it tells of them.
    let is_told_late = is_of_locks && runtime.is_llvms() && process::shared().is_some();
    let mut word = address(index, hint);
    if runtime.records() || is_told_late {
        word |= RECORDED;
    }
    if provider::is_sole(runtime)
        && let Some(place) = ADDRESSES.get(index)
    {
        place.store(word, Relaxed);
    }
    word
}

/// The address of a function, for code at `hint`.
#[inline]
pub(crate) fn address(function: usize, hint: u64) -> usize {
    provider::bound::<Checker>(function, hint)
}

/// The runtime of a call.
pub(super) fn of(saved: &Saved, what: What) -> &'static Provider {
    provider::of::<Checker>(what.function(), saved.code)
}

/// The runtime of a call that passes a function of the program's first: the call may be a jump, and returns to
/// other code then.
pub(super) fn of_body(saved: &Saved, what: What) -> &'static Provider {
    provider::of::<Checker>(what.function(), saved.registers[0] as u64)
}

/// Calls the real function with the arguments of the call.
///
/// # Safety
/// `saved` and `what` are an entry point's.
pub(super) unsafe fn forward(saved: &Saved, what: What) -> usize {
    // SAFETY: the caller's promise.
    unsafe { forward_to(of(saved, what), saved, what) }
}

/// Calls the function of this runtime with the arguments of the call.
///
/// # Safety
/// `saved` and `what` are an entry point's.
pub(super) unsafe fn forward_to(runtime: &Provider, saved: &Saved, what: What) -> usize {
    // SAFETY: the caller's own arguments.
    unsafe { saved.forward(runtime.address(what.function())) }
}

/// What a function of this runtime returns that takes nothing and returns an int.
pub(super) fn query(runtime: &Provider, function: Function) -> u32 {
    // SAFETY: only the routines that ask the runtime for a number are passed here.
    unsafe { runtime.query(function) }
}
