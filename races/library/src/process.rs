//! The process: its shared memory, and what fork makes of it.
#![allow(unsafe_code)]

use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

use inside::process_forks;
use race_stream::producer::Shared;
use race_stream::record::Checks;

use crate::{looked_for, own_memory, tls, unwritten};

static SHARED: OnceLock<Option<Shared>> = OnceLock::new();
/// The memory of another process that records: this one was started by it.
static OF_ANOTHER: OnceLock<Shared> = OnceLock::new();
/// Whether this process records, once it has asked for that.
static BEGUN: OnceLock<bool> = OnceLock::new();
/// This process is the child of one that is recorded.
static IS_CHILD: AtomicBool = AtomicBool::new(false);
/// It has been counted as one that is not checked.
static IS_COUNTED: AtomicBool = AtomicBool::new(false);

/// The shared memory; `None` if the environment names none, or another process records. From the first call
/// on, this process does.
pub(crate) fn shared() -> Option<&'static Shared> {
    let Some(shared) = attached() else {
        note_unchecked();
        return None;
    };
    let is_ours = BEGUN.get_or_init(|| {
        // SAFETY: takes nothing, and cannot fail.
        let process = unsafe { libc::getpid() };
        if !shared.begin(process as u32) {
            shared.count_unchecked();
            return false;
        }
        own_memory::learn_own_memory();
        // SAFETY: functions of the right type in a library that is never unloaded.
        unsafe {
            libc::pthread_atfork(
                Some(process_forks::before),
                Some(process_forks::after),
                Some(after_fork_in_child),
            )
        };
        looked_for::begin(shared.checks());
        if shared.checks().has(Checks::INIT) {
            unwritten::start(shared);
        }
        true
    });
    is_ours.then_some(shared)
}

/// The shared memory, mapped: while this library is loaded, since the program may change its root later, or
/// forbid itself the system calls that it takes.
pub(crate) fn attached() -> Option<&'static Shared> {
    if IS_CHILD.load(Relaxed) {
        return None;
    }
    let attach = || {
        // SAFETY: C strings; the environment is not changed while a program starts.
        let shared = unsafe {
            let path = libc::getenv(c"PARALLAX_RACES".as_ptr());
            if path.is_null() {
                return None;
            }
            Shared::attach(std::ffi::CStr::from_ptr(path)).ok()
        }?;
        #[cfg(target_arch = "x86_64")]
        preload::limits::holds(shared.bytes());
        if shared.is_taken() {
            let _ = OF_ANOTHER.set(shared);
            return None;
        }
        Some(shared)
    };
    SHARED.get_or_init(attach).as_ref()
}

/// Whether the C library has no environment yet: gcc's programs call the sanitizer before any
/// library is initialised.
pub(crate) fn is_early() -> bool {
    unsafe extern "C" {
        static environ: *const *const std::ffi::c_char;
    }
    // SAFETY: the C library's variable, which is read alone.
    SHARED.get().is_none() && unsafe { environ.is_null() }
}

/// Waits until the reader knows what is mapped now.
pub(crate) fn wait_for_look() {
    if !IS_CHILD.load(Relaxed)
        && BEGUN.get() == Some(&true)
        && let Some(Some(shared)) = SHARED.get()
    {
        shared.wait_for_look();
    }
}

extern "C" fn at_exit() {
    wait_for_look();
}

// SAFETY: the loader calls each pointer of this section once, when the process exits.
#[cfg_attr(not(test), unsafe(link_section = ".fini_array"))]
#[used]
static AT_EXIT: extern "C" fn() = at_exit;

/// This process does what would be checked. If another one records, that is counted once.
#[cold]
pub(crate) fn note_unchecked() {
    let recorded = if IS_CHILD.load(Relaxed) {
        SHARED.get().and_then(Option::as_ref)
    } else {
        OF_ANOTHER.get()
    };
    if let Some(shared) = recorded
        && !IS_COUNTED.swap(true, Relaxed)
    {
        shared.count_unchecked();
    }
}

extern "C" fn after_fork_in_child() {
    process_forks::reset();
    // A child of a child is one more.
    IS_COUNTED.store(false, Relaxed);
    IS_CHILD.store(true, Relaxed);
    if looked_for::checks().has(Checks::INIT) {
        note_unchecked();
    }
    looked_for::end();
    unwritten::stop();
    tls::forget();
}
