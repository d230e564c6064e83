//! The allocator, and the functions that map memory: which blocks the program has.
//!
//! Blocks that runtimes and the system's libraries allocate are not the program's.
#![allow(unsafe_code)]

use std::ffi::{c_int, c_void};

use inside::allocator::{self, Blocks};
use inside::next::Next;
use inside::{Saved, next};

use crate::{blocks, objects, region};

static MMAP: Next = Next::new(c"mmap");

fn allocated(block: *mut c_void, bytes: usize, code: u64) {
    if region::is_on() && objects::is_own(code) {
        blocks::add(block as u64, bytes as u64, code, false);
    }
}

/// What is known of blocks.
struct Known;

impl Blocks for Known {
    fn allocated(block: *mut c_void, bytes: usize, code: u64) {
        allocated(block, bytes, code);
    }

    fn zeroed(block: *mut c_void, bytes: usize, code: u64) {
        allocated(block, bytes, code);
    }

    fn resizing(block: *mut c_void, code: u64) -> u64 {
        Known::freed(block, code);
        0
    }

    fn resized([_, new]: [*mut c_void; 2], _: u64, bytes: usize, code: u64) {
        if !new.is_null() {
            allocated(new, bytes, code);
        }
    }

    fn freed(block: *mut c_void, _: u64) {
        if !block.is_null() && region::is_on() {
            blocks::remove(block as u64);
        }
    }
}

inside::allocator!(Known);

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
    allocator::look_up();
    MMAP.address();
}
