//! State of the process: the arena, its OpenMP runtimes, and both across fork.
//!
//! The arena is attached while the library is loaded: later the program may have closed every file,
//! changed its root, or forbidden itself the system calls that it takes. Nothing is allocated in the
//! program's heap: that would move the runtime's own data within its cache lines, which made a region of
//! two threads up to 100 ns slower.
#![allow(unsafe_code)]

use std::ffi::{CStr, c_long};
use std::ops::Range;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, AtomicI32, Ordering::Relaxed};

use inside::{objects, process_forks, valgrind};
use omp_ring::Arena;
use omp_ring::layout::{RuntimeKind, VERSION_BYTES};

#[cfg(target_arch = "x86_64")]
use crate::sampler;
use crate::tls;

/// Most runtimes that are kept. A second one in a process is rare.
const MAX_RUNTIMES: usize = 4;

static ARENA: OnceLock<Option<Arena>> = OnceLock::new();
static RUNTIMES: [OnceLock<Runtime>; MAX_RUNTIMES] = [const { OnceLock::new() }; MAX_RUNTIMES];
/// This process's id as `getpid` returns it; updated in the child of a fork.
static PID: AtomicI32 = AtomicI32::new(0);
/// This process's id in the namespace of `/proc`, as [`numbers`] returns it.
static PROC_PID: AtomicI32 = AtomicI32::new(0);
/// The process has other ids in the namespace of `/proc`.
static HAS_OTHER_IDS: AtomicBool = AtomicBool::new(false);
/// The C library does not tell a thread's id, as far as [`known_tid`] knows it.
static ASKS_FOR_TID: AtomicBool = AtomicBool::new(false);
/// The process, by the same id, that has registered its runtimes in the arena.
static REGISTERED: AtomicI32 = AtomicI32::new(0);

/// A runtime whose events are recorded, or that serves another tool.
pub(crate) struct Runtime {
    kind: RuntimeKind,
    address: u64,
    refused: u64,
    version: [u8; VERSION_BYTES],
    /// The addresses of its image. Empty if it is linked into the executable: then the image holds
    /// the program's code, too.
    image: Range<u64>,
}

impl Runtime {
    /// A runtime with `address` in its image that `refused` callbacks (bit n: number n). Its version
    /// string ends at the first zero.
    pub(crate) fn new(
        kind: RuntimeKind,
        address: u64,
        refused: u64,
        version: [u8; VERSION_BYTES],
    ) -> Self {
        Runtime {
            kind,
            address,
            refused,
            version,
            image: objects::library_of(address),
        }
    }

    fn register_in(&self, arena: &Arena) {
        let (pid, _) = numbers();
        let end = self
            .version
            .iter()
            .position(|byte| *byte == 0)
            .unwrap_or(VERSION_BYTES);
        let version = self.version.get(..end).unwrap_or_default();
        arena.register_runtime(self.kind, pid, self.address, self.refused, version);
    }
}

/// Called by the loader, before `main` and before the constructors of most libraries.
extern "C" fn at_load() {
    arena();
    #[cfg(target_arch = "x86_64")]
    if !valgrind::is_running() {
        sampler::at_load();
    }
}

// SAFETY: the loader calls each pointer of this section once, on the thread that loads the library;
// the function needs nothing of Rust's runtime.
#[unsafe(link_section = ".init_array")]
#[used]
static AT_LOAD: extern "C" fn() = at_load;

/// The arena; `None` if the environment names none of this version. It is attached on the first call: that
/// of the loader, or of a constructor that comes before.
pub(crate) fn arena() -> Option<&'static Arena> {
    ARENA
        .get_or_init(|| {
            let arena = attach()?;
            learn_ids();
            // SAFETY: the functions have the required type, and stay valid: the library is linked
            // with `-z nodelete`, so it is never unloaded.
            unsafe {
                libc::pthread_atfork(
                    Some(process_forks::before),
                    Some(process_forks::after),
                    Some(after_fork_in_child),
                )
            };
            Some(arena)
        })
        .as_ref()
}

/// The arena that the environment names.
fn attach() -> Option<Arena> {
    // Its times would tell nothing.
    if valgrind::is_running() {
        return None;
    }
    // SAFETY: a C string goes in. What comes out is a C string in the environment, which nobody
    // changes while a runtime starts, or NULL; the copy in the arena is all that is kept of it. The
    // standard library's function would allocate its copy in the program's heap.
    let path = unsafe {
        let path = libc::getenv(omp_ring::ARENA_VARIABLE_C.as_ptr());
        (!path.is_null()).then(|| CStr::from_ptr(path))
    }?;
    let arena = Arena::attach(path).ok()?;
    #[cfg(target_arch = "x86_64")]
    preload::limits::holds(arena.bytes());
    Some(arena)
}

/// The arena, if it is attached; for callbacks.
pub(crate) fn attached() -> Option<&'static Arena> {
    ARENA.get()?.as_ref()
}

/// Adds `runtime` to the arena's table, and keeps it for children of this process.
pub(crate) fn register(runtime: Runtime) {
    let Some(arena) = attached() else {
        return;
    };
    runtime.register_in(arena);
    REGISTERED.store(PID.load(Relaxed), Relaxed);
    let mut unstored = runtime;
    for entry in &RUNTIMES {
        match entry.set(unstored) {
            Ok(()) => return,
            Err(returned) => unstored = returned,
        }
    }
}

/// Adds the runtimes to the arena's table if this process has not done so, being the child of a
/// fork.
pub(crate) fn register_again() {
    let Some(arena) = attached() else {
        return;
    };
    let pid = PID.load(Relaxed);
    if REGISTERED.swap(pid, Relaxed) != pid {
        RUNTIMES
            .iter()
            .filter_map(OnceLock::get)
            .for_each(|runtime| runtime.register_in(arena));
    }
}

/// Whether `address` lies in the image of a runtime that has called our OMPT tool.
pub(crate) fn has_tool(address: u64) -> bool {
    RUNTIMES
        .iter()
        .filter_map(OnceLock::get)
        .any(|runtime| runtime.kind == RuntimeKind::Ompt && runtime.image.contains(&address))
}

extern "C" fn after_fork_in_child() {
    process_forks::reset();
    learn_ids_of_child();
    tls::forget();
}

/// Whether the memory is this process's, and not that of a parent that waits for it (`vfork`).
pub(crate) fn is_own_memory() -> bool {
    // SAFETY: the call takes no argument and touches no memory.
    unsafe { libc::getpid() == PID.load(Relaxed) }
}

/// Learns of the ids of the process, which is the child of a fork.
pub(crate) fn learn_ids_of_child() {
    let pid = tid();
    PID.store(pid, Relaxed);
    if pid == 1 {
        // Only the first process of a new namespace has this id.
        HAS_OTHER_IDS.store(true, Relaxed);
    }
    PROC_PID.store(numbers().0, Relaxed);
}

/// Learns of the ids of the process, and how to know them later.
pub(crate) fn learn_ids() {
    // SAFETY: the calls take no argument and touch no memory.
    let own = unsafe { (libc::getpid(), libc::syscall(libc::SYS_gettid) as i32) };
    ASKS_FOR_TID.store(known_tid() != own.1, Relaxed);
    PID.store(own.0, Relaxed);
    HAS_OTHER_IDS.store(proc_numbers().is_some_and(|ids| ids != own), Relaxed);
    PROC_PID.store(numbers().0, Relaxed);
}

/// This process's id in the namespace of `/proc`; 0 without an arena.
pub(crate) fn pid() -> i32 {
    PROC_PID.load(Relaxed)
}

/// The calling thread's id.
fn tid() -> i32 {
    if ASKS_FOR_TID.load(Relaxed) {
        // SAFETY: the call takes no argument and touches no memory.
        return unsafe { libc::syscall(libc::SYS_gettid) } as i32;
    }
    known_tid()
}

/// The calling thread's id as the C library knows it, without a system call: it is a part of the name of
/// the thread's CPU clock (`MAKE_THREAD_CPUCLOCK` of the kernel).
fn known_tid() -> i32 {
    let mut clock = 0;
    // SAFETY: the thread is the calling one; the function writes the local variable.
    let result = unsafe { libc::pthread_getcpuclockid(libc::pthread_self(), &raw mut clock) };
    if result == 0 { !(clock >> 3) } else { 0 }
}

/// The ids of the process and the calling thread in the PID namespace of `/proc`. The arena was
/// opened through `/proc`, so `collect` uses the same ids, even if the process is in a PID namespace
/// of its own. Only there does this take a system call.
pub(crate) fn numbers() -> (i32, i32) {
    let other = HAS_OTHER_IDS.load(Relaxed).then(proc_numbers).flatten();
    other.unwrap_or_else(|| (PID.load(Relaxed), tid()))
}

/// The ids of the process and the calling thread as `/proc` has them.
fn proc_numbers() -> Option<(i32, i32)> {
    let mut text = [0u8; 64];
    // SAFETY: the path is a C string, and the kernel writes at most `text.len()` bytes to `text`.
    let length = unsafe {
        libc::syscall(
            libc::SYS_readlinkat,
            c_long::from(libc::AT_FDCWD),
            c"/proc/thread-self".as_ptr(),
            text.as_mut_ptr(),
            text.len(),
        )
    };
    let length = usize::try_from(length).ok()?;
    parse_numbers(text.get(..length)?)
}

/// `PID/task/TID`.
fn parse_numbers(text: &[u8]) -> Option<(i32, i32)> {
    let (pid, rest) = std::str::from_utf8(text).ok()?.split_once('/')?;
    let tid = rest.strip_prefix("task/")?;
    Some((pid.parse().ok()?, tid.parse().ok()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_thread_s_ids_are_those_in_proc() {
        learn_ids();
        let own = std::fs::read_link("/proc/thread-self").expect("the kernel has it");
        let own = own.to_str().expect("digits");
        assert_eq!(Some(numbers()), parse_numbers(own.as_bytes()));
        assert!(!ASKS_FOR_TID.load(Relaxed), "the C library knows it");
        assert_eq!(parse_numbers(b"12/task/34"), Some((12, 34)));
        assert_eq!(parse_numbers(b"self"), None);
    }
}
