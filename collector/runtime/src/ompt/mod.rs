//! The OMPT tool: the function that an OpenMP 5 runtime looks for, and the registration of
//! callbacks. OpenMP API Specification 5.2, chapter 19.
#![allow(unsafe_code)]

mod callbacks;
mod other;

use std::cell::UnsafeCell;
use std::ffi::{CStr, c_char, c_int, c_uint};
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use ::ompt::types::{self, Data, Lookup, SetCallback, StartToolResult};
use inside::objects;
use omp_ring::layout::{RuntimeKind, VERSION_BYTES};

use crate::process::{self, Runtime};

/// The version string of the runtime that is about to initialize us. A runtime initializes its tool
/// right after `ompt_start_tool`, on the same thread, so the last call is the one that counts.
static VERSION: Mutex<[u8; VERSION_BYTES]> = Mutex::new([0; VERSION_BYTES]);

/// A static to which the runtime may write.
struct Writable(UnsafeCell<StartToolResult>);

// SAFETY: only the runtime accesses it, through the pointer that it was given.
unsafe impl Sync for Writable {}

static TOOL: Writable = Writable(UnsafeCell::new(StartToolResult {
    initialize,
    finalize,
    tool_data: Data { value: 0 },
}));

/// Called by the runtime before its first construct (19.2.1). Returns NULL, which means "no tool
/// here", if there is no arena. A runtime has only one tool: if the program has one of its own,
/// that one is returned.
#[unsafe(no_mangle)]
pub(crate) unsafe extern "C" fn ompt_start_tool(
    omp_version: c_uint,
    runtime_version: *const c_char,
) -> *mut StartToolResult {
    // SAFETY: the runtime's own arguments.
    if let Some(theirs) = unsafe { other::start(omp_version, runtime_version) } {
        return theirs;
    }
    if process::arena().is_none() {
        return std::ptr::null_mut();
    }
    if let Ok(mut version) = VERSION.lock() {
        version.fill(0);
        if !runtime_version.is_null() {
            // SAFETY: the specification promises a C string.
            let text = unsafe { CStr::from_ptr(runtime_version) }.to_bytes();
            version
                .iter_mut()
                .zip(text)
                .for_each(|(to, from)| *to = *from);
        }
    }
    TOOL.0.get()
}

/// `ompt_initialize_t`: registers the callbacks. Returns non-zero to stay active.
unsafe extern "C" fn initialize(
    lookup: Lookup,
    _initial_device: c_int,
    _tool_data: *mut Data,
) -> c_int {
    // SAFETY: the runtime's lookup takes a C string.
    let Some(set_callback) = (unsafe { lookup(c"ompt_set_callback".as_ptr()) }) else {
        return 0;
    };
    // SAFETY: the specification gives the entry point of this name this type (19.6.3).
    let set_callback = unsafe { std::mem::transmute::<types::Function, SetCallback>(set_callback) };
    let mut refused = 0;
    for (number, callback) in callbacks::all() {
        // SAFETY: each callback has the signature that the specification gives its number.
        let result = unsafe { set_callback(number.into(), callback) };
        if result < types::SET_SOMETIMES {
            refused |= 1 << number;
        }
    }
    let version = VERSION
        .lock()
        .map_or([0; VERSION_BYTES], |version| *version);
    let address = lookup as usize as u64;
    note_runtime(address);
    process::register(Runtime::new(RuntimeKind::Ompt, address, refused, version));
    #[cfg(target_arch = "x86_64")]
    crate::gomp::stand_back(address);
    1
}

/// The addresses of the load object of the runtime, begin and end; of the last one of several. Empty
/// for a runtime in the executable, where its code is not distinguished from the program's.
static RUNTIME: [AtomicU64; 2] = [AtomicU64::new(0), AtomicU64::new(0)];

fn note_runtime(address: u64) {
    let range = objects::library_of(address);
    RUNTIME[0].store(range.start, Relaxed);
    RUNTIME[1].store(range.end, Relaxed);
}

/// Whether `address` is in the runtime's load object.
fn runtime_holds(address: u64) -> bool {
    (RUNTIME[0].load(Relaxed)..RUNTIME[1].load(Relaxed)).contains(&address)
}

/// `ompt_finalize_t`. Nothing to do: all records are already in the arena.
unsafe extern "C" fn finalize(_tool_data: *mut Data) {}
