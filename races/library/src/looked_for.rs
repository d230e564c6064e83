//! What is looked for in this process, and whether its code may run at the same time as other code.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};

use inside::valgrind;
use race_stream::record::Checks;

/// What is looked for, once the shared memory is mapped.
pub(crate) static CHECKS: AtomicU64 = AtomicU64::new(0);
/// Calling contexts are taken from stacks, too.
static TAKES_STACKS: AtomicBool = AtomicBool::new(false);
/// Code may run at the same time as other code of the program outside parallel regions, too.
static IS_CONCURRENT: AtomicBool = AtomicBool::new(false);

/// This is looked for from now on.
pub(crate) fn begin(checks: Checks) {
    CHECKS.store(checks.0.into(), Relaxed);
    let are_of_use = checks.has(Checks::DEADLOCK) && !valgrind::is_running();
    TAKES_STACKS.store(are_of_use, Relaxed);
}

/// Nothing is.
pub(crate) fn end() {
    CHECKS.store(0, Relaxed);
    TAKES_STACKS.store(false, Relaxed);
}

/// What is looked for; nothing before the shared memory is mapped.
#[inline]
pub(crate) fn checks() -> Checks {
    Checks(CHECKS.load(Relaxed) as u8)
}

/// Whether the stack says where a thread is in code that is not instrumented: deadlocks are looked for, which need
/// no instrumented code.
#[inline]
pub(crate) fn takes_stacks() -> bool {
    TAKES_STACKS.load(Relaxed)
}

/// Whether code outside parallel regions may run at the same time as other code of the program.
#[inline]
pub(crate) fn is_concurrent() -> bool {
    IS_CONCURRENT.load(Relaxed)
}

/// From now on it may: there is a thread or a task of its own.
#[inline]
pub(crate) fn set_concurrent() {
    if !IS_CONCURRENT.load(Relaxed) {
        IS_CONCURRENT.store(true, Relaxed);
    }
}
