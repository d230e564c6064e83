//! Limits of address space that the program sets itself (`ulimit -v` in a shell, `resource` in Python): what
//! our library holds comes on top of them, so that the program has as much as it has alone.
//!
//! Programs that it starts inherit the raised limit: the part that our library does not hold there is too much.
//!
//! A limit from before the program's start is `collect`'s matter: it takes less, or records without the
//! library.
#![allow(unsafe_code)]

use std::ffi::c_int;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use inside::next::Next;

static SETRLIMIT: Next = Next::new(c"setrlimit");
static GETRLIMIT: Next = Next::new(c"getrlimit");
static PRLIMIT: Next = Next::new(c"prlimit");

/// Addresses that the library holds beside its shared memory, about: its code, and what it has for each
/// thread.
const BESIDE: u64 = 64 << 20;

/// Addresses of shared memory.
static HELD: AtomicU64 = AtomicU64::new(0);

/// The program's own limits, now and at most, and what was set for them. A limit that is not what was set is told
/// as it is.
static ASKED: [AtomicU64; 2] = [const { AtomicU64::new(libc::RLIM_INFINITY) }; 2];
static SET: [AtomicU64; 2] = [const { AtomicU64::new(libc::RLIM_INFINITY) }; 2];

/// Adds bytes of shared memory that the library has mapped.
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
            None => None,
            // SAFETY: the C library's function of this name has this type.
            Some(address) => Some(unsafe { std::mem::transmute::<usize, $of>(address) }),
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

/// Notes what stands for what the program has asked for.
fn note(asked: Limit, set: Limit) {
    let pairs = [
        (asked.rlim_cur, set.rlim_cur),
        (asked.rlim_max, set.rlim_max),
    ];
    for (at, (asked, set)) in pairs.into_iter().enumerate() {
        ASKED[at].store(asked, Relaxed);
        SET[at].store(set, Relaxed);
    }
}

/// What the program has asked for, where this is what was set for it.
fn asked(limit: Limit) -> Limit {
    let of = |at: usize, limit: u64| match SET[at].load(Relaxed) {
        set if set == limit => ASKED[at].load(Relaxed),
        _ => limit,
    };
    Limit {
        rlim_cur: of(0, limit.rlim_cur),
        rlim_max: of(1, limit.rlim_max),
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
    unsafe {
        let raised = raised(*limit);
        let result = set(resource, &raw const raised);
        if result == 0 {
            note(*limit, raised);
        }
        result
    }
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
        if result == 0 && is_space(resource) {
            *limit = asked(*limit);
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
    // SAFETY: the caller's limits, of which `new` may be `old`, and a local one.
    unsafe {
        let wished = new.as_ref().copied();
        let raised = wished.map(raised);
        let given = raised.as_ref().map_or(std::ptr::null(), std::ptr::from_ref);
        let result = of(process, resource, given, old);
        if result == 0 {
            if let Some(old) = old.as_mut() {
                *old = asked(*old);
            }
            if let (Some(wished), Some(raised)) = (wished, raised) {
                note(wished, raised);
            }
        }
        result
    }
}
