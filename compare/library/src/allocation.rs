//! The allocator, and the functions that map memory: which blocks the program has.
//!
//! Each function passes the call on. Blocks that runtimes and the system's libraries allocate are not the program's.
#![allow(unsafe_code)]

use std::ffi::{c_int, c_void};
use std::mem::transmute;
use std::ptr::{copy_nonoverlapping, null_mut};

use inside::allocator::{FIRST, address};
use inside::next::Next;
use inside::{Saved, next};

use crate::{blocks, objects, region};

static MALLOC: Next = Next::new(c"malloc");
static CALLOC: Next = Next::new(c"calloc");
static REALLOC: Next = Next::new(c"realloc");
static FREE: Next = Next::new(c"free");
static MEMALIGN: Next = Next::new(c"memalign");
static ALIGNED: Next = Next::new(c"aligned_alloc");
static POSIX: Next = Next::new(c"posix_memalign");
static MMAP: Next = Next::new(c"mmap");

fn allocated(block: *mut c_void, bytes: usize, code: u64) -> *mut c_void {
    if !block.is_null() && region::is_on() && objects::is_own(code) {
        blocks::add(block as u64, bytes as u64, code, false);
    }
    block
}

fn given_back(block: *mut c_void) {
    if region::is_on() {
        blocks::remove(block as u64);
    }
}

/// Calls the function at an address, of this type.
macro_rules! call {
    ($address:expr, fn($($type:ty),*) -> $result:ty, $($argument:expr),*) => {{
        // SAFETY: the next library's function of that name, with the program's arguments.
        unsafe {
            transmute::<usize, unsafe extern "C" fn($($type),*) -> $result>($address)($($argument),*)
        }
    }};
}

extern "C" fn plain(size: usize, code: u64) -> *mut c_void {
    match address(&MALLOC) {
        Some(next) => allocated(call!(next, fn(usize) -> *mut c_void, size), size, code),
        None => FIRST.take(size),
    }
}

extern "C" fn zeroed(count: usize, size: usize, code: u64) -> *mut c_void {
    match address(&CALLOC) {
        Some(next) => {
            let block = call!(next, fn(usize, usize) -> *mut c_void, count, size);
            allocated(block, count.wrapping_mul(size), code)
        }
        None => FIRST.take(count.saturating_mul(size)),
    }
}

extern "C" fn resized(block: *mut c_void, size: usize, code: u64) -> *mut c_void {
    if FIRST.has(block) {
        let new = plain(size, code);
        if !new.is_null() {
            // SAFETY: both blocks have as many bytes.
            unsafe {
                copy_nonoverlapping(block.cast::<u8>(), new.cast(), size.min(FIRST.room(block)))
            };
        }
        return new;
    }
    let Some(next) = address(&REALLOC) else {
        return null_mut();
    };
    given_back(block);
    let new = call!(next, fn(*mut c_void, usize) -> *mut c_void, block, size);
    allocated(new, size, code)
}

extern "C" fn free_block(block: *mut c_void) {
    if block.is_null() || FIRST.has(block) {
        return;
    }
    if let Some(next) = address(&FREE) {
        given_back(block);
        call!(next, fn(*mut c_void) -> (), block);
    }
}

extern "C" fn aligned(alignment: usize, size: usize, code: u64) -> *mut c_void {
    let Some(next) = address(&ALIGNED) else {
        return null_mut();
    };
    let block = call!(next, fn(usize, usize) -> *mut c_void, alignment, size);
    allocated(block, size, code)
}

extern "C" fn page_aligned(alignment: usize, size: usize, code: u64) -> *mut c_void {
    let Some(next) = address(&MEMALIGN) else {
        return null_mut();
    };
    let block = call!(next, fn(usize, usize) -> *mut c_void, alignment, size);
    allocated(block, size, code)
}

extern "C" fn posix(to: *mut *mut c_void, alignment: usize, size: usize, code: u64) -> c_int {
    let Some(next) = address(&POSIX) else {
        return libc::ENOMEM;
    };
    let result = call!(
        next,
        fn(*mut *mut c_void, usize, usize) -> c_int,
        to,
        alignment,
        size
    );
    if result == 0 {
        // SAFETY: the function has stored the block there.
        allocated(unsafe { *to }, size, code);
    }
    result
}

/// Allocates as `malloc` does, so that the block is known by the call of `new`; that of the C++ library says what it
/// has to when there is no memory.
extern "C-unwind" fn new(size: usize, code: u64, next: &'static Next) -> *mut c_void {
    if let Some(malloc) = address(&MALLOC) {
        let block = call!(malloc, fn(usize) -> *mut c_void, size.max(1));
        if !block.is_null() {
            return allocated(block, size, code);
        }
    }
    next!(next, fn(usize) -> *mut c_void, (size), null_mut())
}

extern "C-unwind" fn new_object(size: usize, code: u64) -> *mut c_void {
    static NEXT: Next = Next::new(c"_Znwm");
    new(size, code, &NEXT)
}

extern "C-unwind" fn new_array(size: usize, code: u64) -> *mut c_void {
    static NEXT: Next = Next::new(c"_Znam");
    new(size, code, &NEXT)
}

inside::with_code! {
    "rsi" malloc plain;
    "rdx" calloc zeroed;
    "rdx" realloc resized;
    "rsi" free free_block;
    "rdx" aligned_alloc aligned;
    "rdx" memalign page_aligned;
    "rcx" posix_memalign posix;
    "rsi" _Znwm new_object;
    "rsi" _Znam new_array;
}

/// Memory is mapped.
unsafe extern "C" fn mapped(saved: &Saved, _: u32) -> usize {
    let [place, bytes, access, flags, file, offset] = saved.registers;
    let result = next!(
        MMAP,
        fn(usize, usize, usize, usize, usize, usize) -> usize,
        (place, bytes, access, flags, file, offset),
        libc::MAP_FAILED as usize
    );
    let is_writable = access as c_int & libc::PROT_WRITE != 0;
    let is_mapped = result != libc::MAP_FAILED as usize;
    if is_mapped && is_writable && region::is_on() && objects::is_own(saved.code) {
        blocks::add(result as u64, bytes as u64, saved.code, true);
    }
    result
}

/// Memory is unmapped. What this library unmaps is not the program's, and may be a table of blocks.
unsafe extern "C" fn unmapped(saved: &Saved, _: u32) -> usize {
    static NEXT: Next = Next::new(c"munmap");
    let [place, bytes, ..] = saved.registers;
    if region::is_on() && objects::is_own(saved.code) {
        blocks::remove(place as u64);
    }
    next!(NEXT, fn(usize, usize) -> usize, (place, bytes), usize::MAX)
}

macro_rules! mapping {
    ($($name:ident $to:ident;)*) => {$(
        inside::naked! { $name:
            ".cfi_startproc",
            inside::call_saved!(),
            inside::return_saved!(),
            ".cfi_endproc",
            what = const 0,
            to = sym $to,
        }
    )*};
}

mapping! {
    mmap mapped;
    mmap64 mapped;
    munmap unmapped;
}

/// Looks up what is called while a thread holds a lock of the loader.
pub(crate) fn start() {
    for next in [
        &MALLOC, &CALLOC, &REALLOC, &FREE, &MEMALIGN, &ALIGNED, &POSIX,
    ] {
        address(next);
    }
    MMAP.address();
}
