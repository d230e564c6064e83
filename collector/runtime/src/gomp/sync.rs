//! Waits: barriers, tasks, mutexes.
//!
//! All functions here take up to two arguments and return what the real function returns. Arguments
//! that the real function does not have hold whatever was in the registers.

use inside::{At, Saved, What};
use ompt::Function;
use ompt::numbers::{endpoint, mutex, sync_region};

use super::provider::{self, Provider};
use super::with;
use crate::process;
use crate::thread::{ForwardedCall, Thread};
use crate::tls;

type Real = unsafe extern "C-unwind" fn(usize, usize) -> usize;

/// `ompt_sync_region_t`: kinds that wait only in a team of two or more threads.
const fn is_barrier(kind: u32) -> bool {
    kind == sync_region::BARRIER as u32 || kind == sync_region::WORKSHARE as u32
}

/// A barrier or a wait for tasks; the kind is `ompt_sync_region_t`.
pub(super) unsafe extern "C-unwind" fn wait(a: usize, b: usize, at: At, what: What) -> usize {
    let provider = provider::of(what.function(), at.code());
    // SAFETY: a function of two arguments or less.
    let real = unsafe { provider.real::<Real>(what.function()) };
    if !provider.records() {
        // SAFETY: the caller's own arguments.
        return unsafe { real(a, b) };
    }
    let waits = with(|thread| {
        let least = if is_barrier(what.kind()) { 2 } else { 1 };
        let waits = thread.gomp.team >= least;
        if waits {
            thread.sync_wait_begin(what.kind(), at.code());
        }
        waits
    });
    // SAFETY: the caller's own arguments.
    let result = unsafe { real(a, b) };
    if waits {
        with(|thread| thread.sync_wait_end(what.kind()));
    }
    result
}

/// Mutex id of the turn of an ordered loop: each team has one.
pub(super) const TURN: u64 = 1;

/// A mutex's id among those of its kind: its address, which is the call's first argument. Each
/// runtime has one mutex of each unnamed kind.
#[inline(always)]
fn lock(what: What, provider: &Provider, a: usize) -> u64 {
    const CRITICAL: usize = Function::GOMP_critical_start as usize;
    const CRITICAL_END: usize = Function::GOMP_critical_end as usize;
    const ATOMIC: usize = Function::GOMP_atomic_start as usize;
    const ATOMIC_END: usize = Function::GOMP_atomic_end as usize;
    const ORDERED_END: usize = Function::GOMP_ordered_end as usize;
    match what.function() {
        CRITICAL | CRITICAL_END | ATOMIC | ATOMIC_END => std::ptr::from_ref(provider) as u64,
        ORDERED_END => TURN,
        _ => a as u64,
    }
}

/// Enters a mutex; the kind is `ompt_mutex_t`.
pub(super) unsafe extern "C-unwind" fn acquire(a: usize, b: usize, at: At, what: What) -> usize {
    let provider = provider::of(what.function(), at.code());
    // SAFETY: a function of two arguments or less.
    let real = unsafe { provider.real::<Real>(what.function()) };
    if !provider.records() {
        // SAFETY: the caller's own arguments.
        return passed(at, what, || unsafe { real(a, b) });
    }
    with(|thread| thread.mutex_acquire(what.kind(), lock(what, provider, a), at.code()));
    // SAFETY: the caller's own arguments.
    let result = unsafe { real(a, b) };
    with(|thread| thread.mutex_acquired(what.kind(), lock(what, provider, a), at.code()));
    result
}

/// Sets a lock. One that is free is acquired by the test, so the clock is read once less: a reading
/// is a fifth of what a lock costs under `collect`.
pub(super) unsafe extern "C-unwind" fn set_lock(a: usize, b: usize, at: At, what: What) -> usize {
    const FORTRAN: usize = Function::omp_set_lock_ as usize;
    let test = match what.function() {
        FORTRAN => Function::omp_test_lock_,
        _ => Function::omp_test_lock,
    };
    let provider = provider::of(what.function(), at.code());
    // SAFETY: a function of one argument, which is the caller's own. Only runtimes whose calls are
    // recorded here are asked, and those have all lock routines.
    let is_free = || unsafe { provider.real::<Real>(test as usize)(a, b) } as u32 != 0;
    if !provider.records() || !is_free() {
        // SAFETY: the caller's own arguments.
        return unsafe { acquire(a, b, at, what) };
    }
    with(|thread| thread.mutex_entered(what.kind(), lock(what, provider, a), at.code()));
    0
}

/// A lock is initialised; its address is the first argument. Returns the real function.
pub(super) unsafe extern "C-unwind" fn note_init(saved: *const Saved, what: What) -> usize {
    // SAFETY: the entry point's own.
    let saved = unsafe { &*saved };
    let code = saved.at().code();
    let provider = provider::of(what.function(), code);
    if provider.records() {
        let [lock, ..] = saved.registers;
        with(|thread| thread.lock_init(what.kind(), lock as u64, code));
    }
    provider.address(what.function())
}

/// Leaves a mutex; the kind is `ompt_mutex_t`.
pub(super) unsafe extern "C-unwind" fn release(a: usize, b: usize, at: At, what: What) -> usize {
    let provider = provider::of(what.function(), at.code());
    if process::arena().is_some() {
        tls::with(Thread::mutex_releases);
    }
    // SAFETY: a function of two arguments or less, and these are the caller's.
    let result = unsafe { provider.real::<Real>(what.function())(a, b) };
    if provider.records() {
        with(|thread| thread.mutex_released(what.kind(), lock(what, provider, a)));
    }
    result
}

/// `ompt_mutex_test_nest_lock`: its test returns the current nesting count.
const TEST_NEST_LOCK: u32 = mutex::TEST_NEST_LOCK as u32;
/// `ompt_scope_begin`.
const SCOPE_BEGIN: u32 = endpoint::BEGIN as u32;

/// Enters a mutex if it is free; the kind is `ompt_mutex_t`. A test does not wait.
pub(super) unsafe extern "C-unwind" fn test(a: usize, b: usize, at: At, what: What) -> usize {
    let provider = provider::of(what.function(), at.code());
    // SAFETY: a function of two arguments or less.
    let real = unsafe { provider.real::<Real>(what.function()) };
    if !provider.records() {
        // SAFETY: the caller's own arguments.
        return passed(at, what, || unsafe { real(a, b) });
    }
    // SAFETY: the caller's own arguments.
    let result = unsafe { real(a, b) };
    // The lock routines return a C int.
    match result as u32 {
        0 => {}
        count if what.kind() == TEST_NEST_LOCK && count > 1 => {
            with(|thread| thread.nest_lock(SCOPE_BEGIN));
        }
        _ => with(|thread| thread.mutex_acquired(what.kind(), lock(what, provider, a), at.code())),
    }
    result
}

/// Calls a lock routine of a runtime with OMPT, which would otherwise report our code as the
/// caller.
fn passed(at: At, what: What, real: impl FnOnce() -> usize) -> usize {
    tls::with(|thread| {
        thread.forwarded = ForwardedCall {
            code: at.code(),
            kind: what.kind(),
        };
    });
    let result = real();
    tls::with(|thread| thread.forwarded = ForwardedCall::default());
    result
}
