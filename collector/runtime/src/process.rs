//! State of the process: the arena, the runtimes that called, and both across fork.
//!
//! Set up when a runtime asks for a tool, or at a process's first call of a libgomp, neither of
//! which is a callback: here files may be opened and memory mapped. Callbacks only read. Nothing
//! is put into the program's heap: where its runtime's own data then come to lie in their cache
//! lines decides whether a region of two threads takes 100 ns more.
#![allow(unsafe_code)]

use std::ffi::{CStr, c_long};
use std::ops::Range;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicI32, Ordering::Relaxed};

use omp_ring::Arena;
use omp_ring::layout::{RuntimeKind, VERSION_BYTES};

use crate::{forks, pointer};

/// Runtimes in one process that are told apart; a second one is rare, a fifth is a mistake.
const MAX_RUNTIMES: usize = 4;

static ARENA: OnceLock<Option<Arena>> = OnceLock::new();
static RUNTIMES: [OnceLock<Runtime>; MAX_RUNTIMES] = [const { OnceLock::new() }; MAX_RUNTIMES];
/// This process, by its own number; another one in a child after fork.
static PID: AtomicI32 = AtomicI32::new(0);
/// The process for which the runtimes were entered into the arena, likewise.
static REGISTERED: AtomicI32 = AtomicI32::new(0);

/// A runtime that is listened to.
pub(crate) struct Runtime {
    kind: RuntimeKind,
    address: u64,
    refused: u64,
    version: [u8; VERSION_BYTES],
    /// The addresses of its image; empty where it is linked into the executable, whose other
    /// code is the program's.
    image: Range<u64>,
}

impl Runtime {
    /// A runtime with `address` in its image that `refused` callbacks (bit n: number n), and calls
    /// itself by `version`, which ends at a zero.
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
            image: image_of(address),
        }
    }

    fn enter(&self, arena: &Arena) {
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

/// The arena, attached on the first call; `None` where the environment names none that fits.
pub(crate) fn arena() -> Option<&'static Arena> {
    ARENA
        .get_or_init(|| {
            let arena = attach()?;
            PID.store(current_pid(), Relaxed);
            // SAFETY: registers functions that live as long as the library, which the runtime
            // never unloads while it has callbacks into it.
            unsafe {
                libc::pthread_atfork(
                    Some(forks::before),
                    Some(forks::after),
                    Some(after_fork_in_child),
                )
            };
            Some(arena)
        })
        .as_ref()
}

/// The arena that the environment names.
fn attach() -> Option<Arena> {
    // SAFETY: a C string. What `getenv` returns is the environment's own text, which is read here
    // and not kept; a copy, as the standard library makes, would be put into the program's heap.
    let path = unsafe {
        let path = libc::getenv(omp_ring::ARENA_VARIABLE_C.as_ptr());
        (!path.is_null()).then(|| CStr::from_ptr(path))
    }?;
    Arena::attach(path).ok()
}

/// The arena if it was attached before; for callbacks.
pub(crate) fn attached() -> Option<&'static Arena> {
    ARENA.get()?.as_ref()
}

/// Enters `runtime` into the arena's table, and keeps it for children of this process.
pub(crate) fn introduce(runtime: Runtime) {
    let Some(arena) = attached() else {
        return;
    };
    runtime.enter(arena);
    REGISTERED.store(PID.load(Relaxed), Relaxed);
    let mut runtime = runtime;
    for place in &RUNTIMES {
        match place.set(runtime) {
            Ok(()) => return,
            Err(back) => runtime = back,
        }
    }
}

/// Enters the runtimes into the arena's table if this process has not done so, because it is
/// the child of a fork.
pub(crate) fn introduce_again() {
    let Some(arena) = attached() else {
        return;
    };
    let pid = PID.load(Relaxed);
    if REGISTERED.swap(pid, Relaxed) != pid {
        RUNTIMES
            .iter()
            .filter_map(OnceLock::get)
            .for_each(|runtime| runtime.enter(arena));
    }
}

/// Whether `address` lies in the image of a runtime that called our OMPT tool.
pub(crate) fn has_tool(address: u64) -> bool {
    RUNTIMES
        .iter()
        .filter_map(OnceLock::get)
        .any(|runtime| runtime.kind == RuntimeKind::Ompt && runtime.image.contains(&address))
}

extern "C" fn after_fork_in_child() {
    forks::reset();
    PID.store(current_pid(), Relaxed);
    pointer::forget();
}

fn current_pid() -> i32 {
    // SAFETY: takes nothing and cannot fail.
    unsafe { libc::getpid() }
}

/// The numbers of the process and the calling thread in the `/proc` through which the arena was found:
/// those that `collect` knows them by, though a container may have others.
pub(crate) fn numbers() -> (i32, i32) {
    let mut text = [0u8; 64];
    // SAFETY: writes no more than the buffer's length into it.
    let length = unsafe {
        libc::syscall(
            libc::SYS_readlinkat,
            c_long::from(libc::AT_FDCWD),
            c"/proc/thread-self".as_ptr(),
            text.as_mut_ptr(),
            text.len(),
        )
    };
    usize::try_from(length)
        .ok()
        .and_then(|length| parse_numbers(text.get(..length)?))
        // SAFETY: takes nothing and cannot fail.
        .unwrap_or_else(|| {
            (current_pid(), unsafe { libc::syscall(libc::SYS_gettid) }
                as i32)
        })
}

/// `PID/task/TID`.
fn parse_numbers(text: &[u8]) -> Option<(i32, i32)> {
    let (pid, rest) = std::str::from_utf8(text).ok()?.split_once('/')?;
    let tid = rest.strip_prefix("task/")?;
    Some((pid.parse().ok()?, tid.parse().ok()?))
}

/// The addresses of the shared library that holds `address`.
fn image_of(address: u64) -> Range<u64> {
    let mut search = (address, 0..0);
    // SAFETY: the callback gets the pointer to `search`, which outlives the call.
    unsafe { libc::dl_iterate_phdr(Some(visit_image), (&raw mut search).cast()) };
    search.1
}

unsafe extern "C" fn visit_image(
    info: *mut libc::dl_phdr_info,
    _size: usize,
    search: *mut libc::c_void,
) -> libc::c_int {
    // SAFETY: the loader passes a valid description, and `image_of` passed its own local.
    let (info, search) = unsafe { (&*info, &mut *search.cast::<(u64, Range<u64>)>()) };
    // SAFETY: the loader's name of an object is a C string, empty for the executable.
    let is_executable = info.dlpi_name.is_null() || unsafe { *info.dlpi_name } == 0;
    // SAFETY: the loader describes that many program headers.
    let headers = unsafe { std::slice::from_raw_parts(info.dlpi_phdr, info.dlpi_phnum as usize) };
    let loaded = headers
        .iter()
        .filter(|header| header.p_type == libc::PT_LOAD);
    let start = loaded
        .clone()
        .map(|h| info.dlpi_addr + h.p_vaddr)
        .min()
        .unwrap_or(0);
    let end = loaded
        .map(|h| info.dlpi_addr + h.p_vaddr + h.p_memsz)
        .max()
        .unwrap_or(0);
    if !(start..end).contains(&search.0) {
        return 0;
    }
    if !is_executable {
        search.1 = start..end;
    }
    1
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_thread_has_the_numbers_that_proc_gives_it() {
        let own = std::fs::read_link("/proc/thread-self").expect("the kernel has it");
        let own = own.to_str().expect("digits");
        assert_eq!(Some(numbers()), parse_numbers(own.as_bytes()));
        assert_eq!(parse_numbers(b"12/task/34"), Some((12, 34)));
        assert_eq!(parse_numbers(b"self"), None);
    }
}
