//! Limits of address space that the program sets itself (`ulimit -v` in a shell, `resource` in Python): what
//! our library holds comes on top of them, so that the program has as much as it has alone.
//!
//! A limit from before the program's start is `collect`'s matter: it takes less, or records without the
//! library.
#![allow(unsafe_code)]

use std::ffi::c_int;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};

use crate::next::Next;

static SETRLIMIT: Next = Next::new(c"setrlimit");
static GETRLIMIT: Next = Next::new(c"getrlimit");
static PRLIMIT: Next = Next::new(c"prlimit");

/// Addresses that the library holds beside its shared memory, about: its code, and what it has for each
/// thread.
const BESIDE: u64 = 64 << 20;

/// Addresses of shared memory.
static HELD: AtomicU64 = AtomicU64::new(0);

/// The program's own limit has been raised by what is held.
static IS_RAISED: AtomicBool = AtomicBool::new(false);

/// The library has mapped so many bytes of shared memory.
pub fn holds(bytes: u64) {
    HELD.fetch_add(bytes, Relaxed);
}

fn held() -> u64 {
    match HELD.load(Relaxed) {
        0 => 0,
        bytes => bytes + BESIDE,
    }
}

/// Called as the library is loaded.
pub(crate) fn start() {
    for next in [&SETRLIMIT, &GETRLIMIT, &PRLIMIT] {
        next.address();
    }
}

type Limit = libc::rlimit;
type Set = unsafe extern "C" fn(c_int, *const Limit) -> c_int;
type Get = unsafe extern "C" fn(c_int, *mut Limit) -> c_int;
type Of = unsafe extern "C" fn(libc::pid_t, c_int, *const Limit, *mut Limit) -> c_int;

/// The C library's function; `None` if it has none.
macro_rules! real {
    ($next:expr, $of:ty) => {
        match $next.address() {
            0 => None,
            // SAFETY: the C library's function of this name has this type.
            address => Some(unsafe { std::mem::transmute::<usize, $of>(address) }),
        }
    };
}

/// A limit that leaves the program what it asks for.
fn raised(asked: Limit) -> Limit {
    let held = held();
    let mut now = Limit {
        rlim_cur: libc::RLIM_INFINITY,
        rlim_max: libc::RLIM_INFINITY,
    };
    if let Some(get) = real!(GETRLIMIT, Get) {
        // SAFETY: fills the local value.
        unsafe { get(libc::RLIMIT_AS as c_int, &raw mut now) };
    }
    // Only root may set more than the limit of limits. What is refused is refused as asked.
    let more = |limit: u64| match limit {
        libc::RLIM_INFINITY => limit,
        limit if limit > now.rlim_max => limit,
        limit => limit.saturating_add(held).min(now.rlim_max),
    };
    Limit {
        rlim_cur: more(asked.rlim_cur),
        rlim_max: more(asked.rlim_max),
    }
}

/// What the program has asked for.
fn lowered(limit: Limit) -> Limit {
    let less = |limit: u64| match limit {
        libc::RLIM_INFINITY => limit,
        limit => limit.saturating_sub(held()),
    };
    Limit {
        rlim_cur: less(limit.rlim_cur),
        rlim_max: less(limit.rlim_max),
    }
}

fn is_space(resource: c_int) -> bool {
    resource == libc::RLIMIT_AS as c_int && held() > 0
}

/// # Safety
/// As the C library's.
pub unsafe extern "C" fn setrlimit(resource: c_int, limit: *const Limit) -> c_int {
    let Some(set) = real!(SETRLIMIT, Set) else {
        return -1;
    };
    if !is_space(resource) || limit.is_null() {
        // SAFETY: the caller's arguments.
        return unsafe { set(resource, limit) };
    }
    // SAFETY: the caller's limit; the function reads the local one.
    let result = unsafe {
        let raised = raised(*limit);
        set(resource, &raw const raised)
    };
    if result == 0 {
        IS_RAISED.store(true, Relaxed);
    }
    result
}

/// # Safety
/// As the C library's.
pub unsafe extern "C" fn getrlimit(resource: c_int, limit: *mut Limit) -> c_int {
    let Some(get) = real!(GETRLIMIT, Get) else {
        return -1;
    };
    // SAFETY: the caller's arguments, which the function has filled.
    unsafe {
        let result = get(resource, limit);
        if result == 0 && is_space(resource) && IS_RAISED.load(Relaxed) {
            *limit = lowered(*limit);
        }
        result
    }
}

/// # Safety
/// As the C library's.
pub unsafe extern "C" fn prlimit(
    process: libc::pid_t,
    resource: c_int,
    new: *const Limit,
    old: *mut Limit,
) -> c_int {
    let Some(of) = real!(PRLIMIT, Of) else {
        return -1;
    };
    if process != 0 || !is_space(resource) {
        // SAFETY: the caller's arguments.
        return unsafe { of(process, resource, new, old) };
    }
    let was_raised = IS_RAISED.load(Relaxed);
    // SAFETY: the caller's limits, and a local one.
    unsafe {
        let result = if new.is_null() {
            of(process, resource, new, old)
        } else {
            let raised = raised(*new);
            of(process, resource, &raw const raised, old)
        };
        if result == 0 {
            if !new.is_null() {
                IS_RAISED.store(true, Relaxed);
            }
            if was_raised && !old.is_null() {
                *old = lowered(*old);
            }
        }
        result
    }
}
