//! OMPT tools of the program. Our preloaded tool comes before all others, and once it accepts, a
//! runtime asks no other. So ours asks them first, as the runtime would (OpenMP API Specification
//! 5.2, section 19.2.1), and declines in favour of the first that accepts.
#![allow(unsafe_code)]

use std::ffi::{CStr, c_char, c_int, c_uint, c_void};
use std::ptr;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

use ::ompt::types::StartToolResult;
use inside::loader::{Module, Scope};
use omp_ring::layout::{RuntimeKind, VERSION_BYTES};

use crate::process::{self, Runtime};

/// `ompt_start_tool`.
type Start = unsafe extern "C" fn(c_uint, *const c_char) -> *mut StartToolResult;

const START: &CStr = c"ompt_start_tool";
/// A symbol of every program with ThreadSanitizer.
const SANITIZER: &CStr = c"__tsan_init";
/// The longest path in the list of tools that is tried.
const LONGEST_PATH: usize = 4096;

/// The result to return to the runtime if there is another tool; `None` if there is none.
///
/// # Safety
/// The arguments are the runtime's.
pub(super) unsafe fn start(
    omp_version: c_uint,
    runtime_version: *const c_char,
) -> Option<*mut StartToolResult> {
    let ask = |address: usize| {
        // SAFETY: a function of that name has this type, and the arguments are the runtime's.
        let theirs = unsafe {
            let start = std::mem::transmute::<usize, Option<Start>>(address)?;
            start(omp_version, runtime_version)
        };
        (!theirs.is_null()).then_some(theirs)
    };
    // A tool that is also preloaded, or linked to the program.
    let next = Scope::next().find(START, None);
    if next != 0
        && let Some(theirs) = ask(next)
    {
        step_back(next, b"");
        return Some(theirs);
    }
    for path in Paths::listed() {
        let Some(library) = Library::open(path.get()) else {
            continue;
        };
        let address = library.find(START);
        let is_own = Module::at(address as u64).is_some_and(|module| module.is_own());
        if !is_own && let Some(theirs) = ask(address) {
            library.keep();
            step_back(address, b"");
            return Some(theirs);
        }
    }
    // ThreadSanitizer learns of OpenMP from Archer, which the runtime asks last of all. Without
    // Archer it reports false races.
    let sanitizer = Scope::all().find(SANITIZER, None);
    if sanitizer != 0 {
        step_back(sanitizer, b"ThreadSanitizer's Archer");
        return Some(ptr::null_mut());
    }
    None
}

/// Tells `collect` that the runtime uses the tool with `address` in its image instead of ours.
fn step_back(address: usize, name: &[u8]) {
    // A runtime may ask us twice: as a preloaded library and as one in the list.
    static DONE: AtomicBool = AtomicBool::new(false);
    if process::arena().is_none() || DONE.swap(true, Relaxed) {
        return;
    }
    let mut version = [0; VERSION_BYTES];
    version
        .iter_mut()
        .zip(name)
        .for_each(|(to, from)| *to = *from);
    let kind = RuntimeKind::OtherTool;
    process::register(Runtime::new(kind, address as u64, 0, version));
}

/// A path in the list, zero-terminated.
struct Path([u8; LONGEST_PATH]);

impl Path {
    fn get(&self) -> &CStr {
        CStr::from_bytes_until_nul(&self.0).unwrap_or(c"")
    }
}

/// The tools that the environment lists (`tool-libraries-var`).
struct Paths<'a> {
    rest: &'a [u8],
}

impl Paths<'_> {
    fn listed() -> Paths<'static> {
        // SAFETY: a C string. The result of `getenv` stays valid while nobody changes the
        // environment, and nobody does while the runtime starts.
        let list = unsafe {
            let list = libc::getenv(c"OMP_TOOL_LIBRARIES".as_ptr());
            (!list.is_null()).then(|| CStr::from_ptr(list).to_bytes())
        };
        Paths {
            rest: list.unwrap_or_default(),
        }
    }
}

impl Iterator for Paths<'_> {
    type Item = Path;

    fn next(&mut self) -> Option<Path> {
        while !self.rest.is_empty() {
            let end = self.rest.iter().position(|byte| *byte == b':');
            let (entry, rest) = self.rest.split_at(end.unwrap_or(self.rest.len()));
            self.rest = rest.get(1..).unwrap_or_default();
            let mut path = Path([0; LONGEST_PATH]);
            if !entry.is_empty() && entry.len() < LONGEST_PATH {
                path.0
                    .iter_mut()
                    .zip(entry)
                    .for_each(|(to, from)| *to = *from);
                return Some(path);
            }
        }
        None
    }
}

/// A library, closed on drop unless kept.
struct Library(*mut c_void);

impl Library {
    fn open(path: &CStr) -> Option<Library> {
        const HOW: c_int = libc::RTLD_LAZY;
        // SAFETY: loads a library that the user has listed for this purpose.
        let handle = unsafe { libc::dlopen(path.as_ptr(), HOW) };
        (!handle.is_null()).then(|| Library(handle))
    }

    fn find(&self, name: &CStr) -> usize {
        // SAFETY: an open handle and a C string.
        unsafe { libc::dlsym(self.0, name.as_ptr()) as usize }
    }

    /// Leaves it loaded, because it is in use.
    fn keep(self) {
        std::mem::forget(self);
    }
}

impl Drop for Library {
    fn drop(&mut self) {
        // SAFETY: `open` took this reference.
        unsafe { libc::dlclose(self.0) };
    }
}
