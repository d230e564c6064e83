//! Barriers, criticals, ordered regions and locks.

use inside::{Saved, What};
use ompt::Function;

use super::events::{BARRIER_EXPLICIT, at_barrier};
use super::real::{forward, of};
use crate::mutexes::{acquired, destroyed, initialized, released, wants};
use crate::tls;

/// An explicit barrier, or that of a worksharing construct whose end no other call tells.
pub(super) unsafe extern "C-unwind" fn barrier(saved: &Saved, what: What) -> usize {
    // SAFETY: the entry point's own.
    at_barrier(saved, BARRIER_EXPLICIT, || unsafe { forward(saved, what) })
}

/// What stands for an unnamed mutex.
fn lock(saved: &Saved, what: What) -> u64 {
    const CRITICAL: usize = Function::GOMP_critical_start as usize;
    const CRITICAL_END: usize = Function::GOMP_critical_end as usize;
    const ATOMIC: usize = Function::GOMP_atomic_start as usize;
    const ATOMIC_END: usize = Function::GOMP_atomic_end as usize;
    const ORDERED: usize = Function::GOMP_ordered_start as usize;
    const ORDERED_END: usize = Function::GOMP_ordered_end as usize;
    static NAMES: [u8; 2] = [0; 2];
    match what.function() {
        CRITICAL | CRITICAL_END => (&raw const NAMES) as u64,
        ATOMIC | ATOMIC_END => (&raw const NAMES) as u64 + 1,
        ORDERED | ORDERED_END => tls::with(|thread| thread.place.object([])),
        _ => saved.registers[0] as u64,
    }
}

/// Calls the real function. What LLVM's runtime tells of the lock meanwhile is told here.
///
/// # Safety
/// `saved` and `what` are an entry point's.
unsafe fn forward_with(lock: u64, saved: &Saved, what: What) -> usize {
    tls::with(|thread| thread.lock_call = lock);
    // SAFETY: the caller's promise.
    let result = unsafe { forward(saved, what) };
    tls::with(|thread| thread.lock_call = 0);
    result
}

/// Takes a mutex; the kind is `ompt_mutex_t`.
pub(super) unsafe extern "C-unwind" fn acquire(saved: &Saved, what: What) -> usize {
    let (kind, lock) = (what.kind() as u8, lock(saved, what));
    wants(kind, lock, saved.at());
    // SAFETY: the entry point's own.
    let result = unsafe { forward_with(lock, saved, what) };
    acquired(kind, lock, saved.at());
    result
}

/// Gives a mutex back.
pub(super) unsafe extern "C-unwind" fn release(saved: &Saved, what: What) -> usize {
    let lock = lock(saved, what);
    released(what.kind() as u8, lock, saved.at());
    // SAFETY: the entry point's own.
    unsafe { forward_with(lock, saved, what) }
}

/// Takes a mutex if it is free. The test of a nest lock returns how often it is held now.
pub(super) unsafe extern "C-unwind" fn test(saved: &Saved, what: What) -> usize {
    let (kind, lock) = (what.kind() as u8, lock(saved, what));
    wants(kind, lock, saved.at());
    // SAFETY: the entry point's own.
    let result = unsafe { forward_with(lock, saved, what) };
    if result as u32 == 1 {
        acquired(kind, lock, saved.at());
    }
    result
}

/// Sets the call's lock if it is free or the task's own, by the routine that belongs to `what`.
/// Returns how often the task holds it now, 0: not. `None`: it was not initialised, and LLVM's runtime would
/// abort.
fn test_nest(saved: &Saved, what: What) -> Option<u32> {
    let [lock, ..] = saved.registers;
    let runtime = of(saved, what);
    let is_fortran = what.function() == Function::omp_set_nest_lock_ as usize
        || what.function() == Function::omp_unset_nest_lock_ as usize;
    let test = if is_fortran {
        Function::omp_test_nest_lock_
    } else {
        Function::omp_test_nest_lock
    };
    // SAFETY: the routine's type.
    let test = unsafe { runtime.real::<unsafe extern "C" fn(usize) -> u32>(test as usize) };
    // SAFETY: the caller's lock, which both the test and the call itself would read.
    let first_word = || unsafe { std::ptr::read_volatile(lock as *const usize) };
    // LLVM's runtime never has 0 in a lock that it has initialised.
    if runtime.is_llvms() && first_word() == 0 {
        return None;
    }
    tls::with(|thread| thread.lock_call = lock as u64);
    // SAFETY: the caller's own argument.
    let held = unsafe { test(lock) };
    tls::with(|thread| thread.lock_call = 0);
    Some(held)
}

/// Sets a nest lock. A test takes it if it is the task's own already; if the test fails, the task gets
/// it for the first time.
pub(super) unsafe extern "C-unwind" fn set_nest(saved: &Saved, what: What) -> usize {
    let [lock, ..] = saved.registers;
    wants(3, lock as u64, saved.at());
    let held = test_nest(saved, what).unwrap_or(0);
    if held == 0 {
        // SAFETY: the entry point's own.
        unsafe { forward_with(lock as u64, saved, what) };
    }
    if held <= 1 {
        acquired(3, lock as u64, saved.at());
    }
    0
}

/// Unsets a nest lock. How often the task holds it is told by one test more, which is taken back.
pub(super) unsafe extern "C-unwind" fn unset_nest(saved: &Saved, what: What) -> usize {
    let [lock, ..] = saved.registers;
    let held = test_nest(saved, what).unwrap_or(0);
    if held != 0 {
        // SAFETY: the entry point's own; this thread has just set it.
        unsafe { forward_with(lock as u64, saved, what) };
    }
    if held <= 2 {
        released(3, lock as u64, saved.at());
    }
    // SAFETY: the entry point's own.
    unsafe { forward_with(lock as u64, saved, what) }
}

pub(super) unsafe extern "C-unwind" fn init(saved: &Saved, what: What) -> usize {
    let lock = lock(saved, what);
    // SAFETY: the entry point's own.
    let result = unsafe { forward_with(lock, saved, what) };
    initialized(what.kind() as u8, lock, saved.at());
    result
}

pub(super) unsafe extern "C-unwind" fn destroy(saved: &Saved, what: What) -> usize {
    let lock = lock(saved, what);
    destroyed(what.kind() as u8, lock, saved.at());
    // SAFETY: the entry point's own.
    unsafe { forward_with(lock, saved, what) }
}
