//! What the process has once: the arena, the runtimes that called, and what fork does to them.
//!
//! Set up when a runtime asks for a tool, or at a process's first call of a libgomp, neither of
//! which is a callback: here files may be opened and memory mapped. Callbacks only read. Nothing
//! is put into the program's heap: where its runtime's own data then come to lie in their cache
//! lines decides whether a region of two threads takes 100 ns more.
#![allow(unsafe_code)]

use std::ffi::{CStr, OsStr};
use std::ops::Range;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicI32, Ordering::Relaxed};

use omp_ring::Arena;
use omp_ring::layout::{RuntimeKind, VERSION_BYTES};

/// Runtimes in one process that are told apart; a second one is rare, a fifth is a mistake.
const MAX_RUNTIMES: usize = 4;

static ARENA: OnceLock<Option<Arena>> = OnceLock::new();
/// The addresses of this library.
static OWN_IMAGE: OnceLock<Range<u64>> = OnceLock::new();
static RUNTIMES: [OnceLock<Runtime>; MAX_RUNTIMES] = [const { OnceLock::new() }; MAX_RUNTIMES];
/// This process; another one in a child after fork.
static PID: AtomicI32 = AtomicI32::new(0);
/// The process for which the runtimes were entered into the arena.
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

    fn enter(&self, arena: &Arena, pid: i32) {
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
            OWN_IMAGE.get_or_init(|| image_of(image_of as *const () as u64));
            // SAFETY: registers a function that lives as long as the library, which the runtime
            // never unloads while it has callbacks into it.
            unsafe { libc::pthread_atfork(None, None, Some(after_fork_in_child)) };
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
    Arena::attach(Path::new(OsStr::from_bytes(path.to_bytes()))).ok()
}

/// The arena if it was attached before, and the process; for callbacks.
pub(crate) fn attached() -> Option<(&'static Arena, i32)> {
    Some((ARENA.get()?.as_ref()?, PID.load(Relaxed)))
}

/// Enters `runtime` into the arena's table, and keeps it for children of this process.
pub(crate) fn introduce(runtime: Runtime) {
    let Some((arena, pid)) = attached() else {
        return;
    };
    runtime.enter(arena, pid);
    REGISTERED.store(pid, Relaxed);
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
    let Some((arena, pid)) = attached() else {
        return;
    };
    if REGISTERED.swap(pid, Relaxed) != pid {
        RUNTIMES
            .iter()
            .filter_map(OnceLock::get)
            .for_each(|runtime| runtime.enter(arena, pid));
    }
}

/// Whether `address` lies in a runtime's image.
pub(crate) fn is_runtime(address: u64) -> bool {
    RUNTIMES
        .iter()
        .filter_map(OnceLock::get)
        .any(|runtime| runtime.image.contains(&address))
}

/// Whether `address` lies in the image of a runtime that called our OMPT tool.
pub(crate) fn has_tool(address: u64) -> bool {
    RUNTIMES
        .iter()
        .filter_map(OnceLock::get)
        .any(|runtime| runtime.kind == RuntimeKind::Ompt && runtime.image.contains(&address))
}

/// Whether `address` lies in a runtime's image or in this library.
pub(crate) fn is_inner(address: u64) -> bool {
    OWN_IMAGE
        .get()
        .is_some_and(|image| image.contains(&address))
        || is_runtime(address)
}

extern "C" fn after_fork_in_child() {
    PID.store(current_pid(), Relaxed);
    crate::tls::forget();
}

fn current_pid() -> i32 {
    // SAFETY: takes nothing and cannot fail.
    unsafe { libc::getpid() }
}

/// The thread's number in the kernel.
pub(crate) fn current_tid() -> i32 {
    // SAFETY: takes nothing and cannot fail.
    unsafe { libc::syscall(libc::SYS_gettid) as i32 }
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
