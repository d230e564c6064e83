//! The real functions: those of the next library, looked up at their first use.

use std::ffi::CStr;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering::Relaxed};

use inside::objects::library_of;
use inside::{Saved, What};
use ompt::{Function, NAMES};

use crate::objects::{self, Runtime};
use crate::process;

/// The addresses of the functions by number, 0: not looked up yet. [`RECORDED`] is set in those whose
/// calls are recorded here.
pub(crate) static ADDRESSES: [AtomicUsize; NAMES.len()] =
    [const { AtomicUsize::new(0) }; NAMES.len()];

/// As [`inside::guarded`] has it.
const RECORDED: usize = 1 << 63;

/// A function that every runtime with LLVM's interface has. Such a runtime has OMPT.
const LLVM: &CStr = c"__kmpc_fork_call";

/// The routines for locks are those of LLVM's runtime; known once one of them has been looked up.
static LOCKS_ARE_LLVMS: AtomicBool = AtomicBool::new(false);

pub(super) fn locks_are_llvms() -> bool {
    LOCKS_ARE_LLVMS.load(Relaxed)
}

/// What stands for a function that no library has.
extern "C" fn nothing() -> usize {
    0
}

/// Looks up function number `function`.
#[cold]
pub(crate) extern "C" fn resolve(function: u32) -> usize {
    let (Some(place), Some(name)) = (
        ADDRESSES.get(function as usize),
        NAMES.get(function as usize),
    ) else {
        return nothing as *const () as usize;
    };
    // SAFETY: C strings; the searches leave nothing behind but the count of uses of a library that
    // the program has loaded.
    let (address, llvm) = unsafe {
        let mut address = libc::dlsym(libc::RTLD_NEXT, name.as_ptr());
        if address.is_null() {
            // A program that has loaded libgomp late has it in no global scope.
            let flags = libc::RTLD_LAZY | libc::RTLD_NOLOAD;
            let library = libc::dlopen(c"libgomp.so.1".as_ptr(), flags);
            if !library.is_null() {
                address = libc::dlsym(library, name.as_ptr());
            }
        }
        let llvm = libc::dlsym(libc::RTLD_NEXT, LLVM.as_ptr());
        (address as usize, llvm as u64)
    };
    let mut word = nothing as *const () as usize;
    if address != 0 {
        word = address;
        let library = library_of(address as u64);
        if process::shared().is_some() {
            if !library.contains(&llvm) {
                objects::note_runtime(Runtime::Gomp, library);
                word |= RECORDED;
            } else if ompt::is_of_locks(name) {
                // LLVM's runtime aborts within many wrong calls of them, before it tells of them.
                LOCKS_ARE_LLVMS.store(true, Relaxed);
                word |= RECORDED;
            }
        }
    }
    place.store(word, Relaxed);
    word
}

/// The address of a function.
#[inline]
pub(crate) fn address(function: usize) -> usize {
    let word = ADDRESSES
        .get(function)
        .map_or(0, |place| place.load(Relaxed));
    let word = match word {
        0 => resolve(function as u32),
        word => word,
    };
    word & !RECORDED
}

/// A function of this type.
///
/// # Safety
/// `F` must be its type, a function pointer.
#[inline]
pub(super) unsafe fn real<F: Copy>(function: usize) -> F {
    const { assert!(size_of::<F>() == size_of::<usize>()) };
    let address = address(function);
    // SAFETY: a function, of this type by the caller's promise.
    unsafe { std::mem::transmute_copy(&address) }
}

/// Any function, with as many arguments as the longest has; those beyond its own are ignored.
pub(super) type Any = unsafe extern "C-unwind" fn(
    usize,
    usize,
    usize,
    usize,
    usize,
    usize,
    usize,
    usize,
    usize,
    usize,
    usize,
    usize,
) -> usize;

/// Calls the real function with the arguments of the call.
///
/// # Safety
/// `saved` and `what` are an entry point's.
pub(super) unsafe fn forward(saved: &Saved, what: What) -> usize {
    let [a, b, c, d, e, f] = saved.registers;
    let [g, h, i, j, k, l] = saved.stack;
    // SAFETY: the caller's own arguments.
    unsafe { real::<Any>(what.function())(a, b, c, d, e, f, g, h, i, j, k, l) }
}

/// What a function returns that takes nothing and returns an int.
pub(super) fn query(function: Function) -> u32 {
    // SAFETY: only the routines that ask the runtime for a number are passed here.
    unsafe { real::<unsafe extern "C" fn() -> u32>(function as usize)() }
}
