//! The allocator: where blocks come from, and when their memory may be another's.
//!
//! Each function passes the call on. A block's number is taken after it is there and before it is
//! given back, so that the blocks at one address are in order.
#![allow(unsafe_code)]

use std::ffi::{c_int, c_void};
use std::ptr::null_mut;

use inside::allocator::{FIRST, address};
use inside::next::Next;
use race_stream::record::{Checks, Event};

use crate::{looked_for, objects, stack, tls, unwritten};

static MALLOC: Next = Next::new(c"malloc");
static CALLOC: Next = Next::new(c"calloc");
static REALLOC: Next = Next::new(c"realloc");
static FREE: Next = Next::new(c"free");
static MEMALIGN: Next = Next::new(c"memalign");
static ALIGNED: Next = Next::new(c"aligned_alloc");
static USABLE: Next = Next::new(c"malloc_usable_size");
static POSIX: Next = Next::new(c"posix_memalign");

/// Whether blocks are told of: a lock in recycled memory is another one, too.
#[inline]
fn is_told() -> bool {
    looked_for::checks() != Checks::default()
}

#[inline]
fn allocated(block: *mut c_void, bytes: usize, code: u64) -> *mut c_void {
    if !block.is_null() && is_told() {
        // SAFETY: `f` below calls neither the program nor a runtime.
        let thread = unsafe { tls::existing() };
        thread.map(|thread| {
            thread.enter(|thread| {
                let (context, caller) = (thread.context(), thread.running_call());
                thread.unordered_event(&Event::Alloc {
                    address: block as u64,
                    bytes: bytes as u64,
                    code,
                    caller,
                    context,
                });
            })
        });
    }
    block
}

#[inline]
fn given_back(block: *mut c_void, code: u64) {
    if !block.is_null() && is_told() {
        // SAFETY: as in `allocated`.
        let thread = unsafe { tls::existing() };
        thread.map(|thread| {
            thread.enter(|thread| {
                let context = thread.context();
                thread.event(&Event::Free {
                    address: block as u64,
                    code,
                    context,
                });
            })
        });
    }
}

/// Calls the function at an address, of this type.
macro_rules! call {
    ($address:expr, fn($($type:ty),*) -> $result:ty, $($argument:expr),*) => {{
        // SAFETY: the next library's function of that name, with the program's arguments.
        unsafe {
            std::mem::transmute::<usize, unsafe extern "C" fn($($type),*) -> $result>($address)(
                $($argument),*
            )
        }
    }};
}

/// The bytes that a block has; 0 if unknown.
fn usable(block: *mut c_void) -> u64 {
    match address(&USABLE) {
        Some(next) if !block.is_null() => call!(next, fn(*mut c_void) -> usize, block) as u64,
        _ => 0,
    }
}

/// As [`allocated`], of a block without values from byte `kept` on. Blocks of code without
/// instrumentation are written by it, unseen.
#[inline]
fn undefined(block: *mut c_void, kept: u64, bytes: usize, code: u64) -> *mut c_void {
    if unwritten::is_on() && objects::is_instrumented(code) {
        let bytes = usable(block).max(bytes as u64);
        // SAFETY: the allocator has just given the block to the program.
        unsafe { unwritten::allocated(block as u64, kept, bytes) };
        stack::note_use();
    }
    allocated(block, bytes, code)
}

pub(crate) extern "C" fn plain(size: usize, code: u64) -> *mut c_void {
    match address(&MALLOC) {
        Some(next) => undefined(call!(next, fn(usize) -> *mut c_void, size), 0, size, code),
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
                let bytes = size.min(FIRST.room(block));
                std::ptr::copy_nonoverlapping(block.cast::<u8>(), new.cast(), bytes)
            };
        }
        return new;
    }
    let Some(next) = address(&REALLOC) else {
        return null_mut();
    };
    let kept = if unwritten::is_on() {
        unwritten::freed(block as u64);
        usable(block)
    } else {
        0
    };
    given_back(block, code);
    let new = call!(next, fn(*mut c_void, usize) -> *mut c_void, block, size);
    if new != block && !new.is_null() && kept > 0 {
        unwritten::copied(new as u64, block as u64, kept.min(size as u64));
    }
    undefined(new, kept, size, code)
}

pub(crate) extern "C" fn free_block(block: *mut c_void, code: u64) {
    if FIRST.has(block) {
        return;
    }
    if let Some(next) = address(&FREE) {
        given_back(block, code);
        if unwritten::is_on() {
            unwritten::freed(block as u64);
            stack::note_use();
        }
        call!(next, fn(*mut c_void) -> (), block);
    }
}

extern "C" fn aligned(alignment: usize, size: usize, code: u64) -> *mut c_void {
    let Some(next) = address(&ALIGNED) else {
        return null_mut();
    };
    let block = call!(next, fn(usize, usize) -> *mut c_void, alignment, size);
    undefined(block, 0, size, code)
}

extern "C" fn page_aligned(alignment: usize, size: usize, code: u64) -> *mut c_void {
    let Some(next) = address(&MEMALIGN) else {
        return null_mut();
    };
    let block = call!(next, fn(usize, usize) -> *mut c_void, alignment, size);
    undefined(block, 0, size, code)
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
        undefined(unsafe { *to }, 0, size, code);
    }
    result
}

/// Allocates as `malloc` does, so that the block is known by the call of `new`; that of the C++ library
/// says what it has to when there is no memory.
extern "C-unwind" fn new(size: usize, code: u64, next: &'static Next) -> *mut c_void {
    if let Some(malloc) = address(&MALLOC) {
        let block = call!(malloc, fn(usize) -> *mut c_void, size);
        if !block.is_null() {
            return undefined(block, 0, size, code);
        }
    }
    match address(next) {
        // SAFETY: the next library's function of that name, with the program's argument.
        Some(next) => unsafe {
            std::mem::transmute::<usize, unsafe extern "C-unwind" fn(usize) -> *mut c_void>(next)(
                size,
            )
        },
        None => null_mut(),
    }
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
