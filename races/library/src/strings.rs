//! Functions of the C library that copy and fill memory. gcc and older clang call them as they are,
//! newer clang by names of the sanitizer's interface.
//!
//! Everything in the process calls them, this library, too. Only a call from an instrumented object is
//! an access: whether it is one is known from the call's return address, before the thread's state is
//! looked at. The real functions are looked up once, as the library is loaded; a call that comes before
//! that is carried out here.
#![allow(unsafe_code)]

use std::arch::{asm, naked_asm};
use std::ffi::{c_char, c_int, c_void};

use inside::next::Next;
use race_stream::record::WRITE;

use crate::objects::is_instrumented;
use crate::{stack, tls, unwritten};

/// The call before `code`, of an instrumented object, writes `size` bytes at `to`: copies of those at
/// `from`, or other values if it is 0.
#[inline]
pub(crate) fn moves(to: u64, from: u64, size: usize, code: u64) {
    // SAFETY: the state's methods call neither the program nor a runtime.
    if let Some(thread) = unsafe { tls::existing() } {
        if from != 0 {
            thread.block_access(from, size as u64, code, 0);
        }
        thread.block_access(to, size as u64, code, WRITE);
    }
    if unwritten::is_on() {
        match from {
            0 => unwritten::written_range(to, size as u64),
            _ => unwritten::copied(to, from, size as u64),
        }
        stack::note_use();
    }
}

static MEMCPY: Next = Next::new(c"memcpy");
static MEMMOVE: Next = Next::new(c"memmove");
static MEMSET: Next = Next::new(c"memset");

type Copy = unsafe extern "C" fn(*mut c_void, *const c_void, usize) -> *mut c_void;
type Fill = unsafe extern "C" fn(*mut c_void, c_int, usize) -> *mut c_void;

// SAFETY: the loader calls each pointer of this section once, before the program's own code.
#[cfg_attr(not(test), unsafe(link_section = ".init_array"))]
#[used]
static AT_LOAD: extern "C" fn() = find;

extern "C" fn find() {
    for next in [&MEMCPY, &MEMMOVE, &MEMSET] {
        next.address();
    }
}

/// # Safety
/// The ranges are the program's, and may overlap.
#[inline]
unsafe fn carry_out(next: &Next, to: *mut c_void, from: *const c_void, size: usize) {
    match next.found() {
        // SAFETY: the C library's function of that name, with the program's arguments.
        Some(next) => unsafe {
            std::mem::transmute::<usize, Copy>(next)(to, from, size);
        },
        // SAFETY: the program's own arguments; where the target begins within the source, the highest
        // bytes are copied first.
        None => unsafe {
            if (to as usize).wrapping_sub(from as usize) >= size {
                asm!(
                    "rep movsb",
                    inout("rdi") to => _, inout("rsi") from => _, inout("rcx") size => _,
                    options(nostack, preserves_flags),
                );
            } else {
                asm!(
                    "std", "rep movsb", "cld",
                    inout("rdi") to.wrapping_byte_add(size).wrapping_byte_sub(1) => _,
                    inout("rsi") from.wrapping_byte_add(size).wrapping_byte_sub(1) => _,
                    inout("rcx") size => _,
                    options(nostack),
                );
            }
        },
    }
}

extern "C" fn copy(to: *mut c_void, from: *const c_void, size: usize, code: u64) -> *mut c_void {
    if is_instrumented(code) {
        moves(to as u64, from as u64, size, code);
    }
    // SAFETY: the program's own arguments.
    unsafe { carry_out(&MEMCPY, to, from, size) };
    to
}

extern "C" fn shift(to: *mut c_void, from: *const c_void, size: usize, code: u64) -> *mut c_void {
    if is_instrumented(code) {
        moves(to as u64, from as u64, size, code);
    }
    // SAFETY: the program's own arguments.
    unsafe { carry_out(&MEMMOVE, to, from, size) };
    to
}

extern "C" fn fill(to: *mut c_void, value: c_int, size: usize, code: u64) -> *mut c_void {
    if is_instrumented(code) {
        moves(to as u64, 0, size, code);
    }
    match MEMSET.found() {
        // SAFETY: the C library's function of that name, with the program's arguments.
        Some(next) => unsafe {
            std::mem::transmute::<usize, Fill>(next)(to, value, size);
        },
        // SAFETY: the program's own arguments.
        None => unsafe {
            asm!(
                "rep stosb",
                inout("rdi") to => _, in("al") value as u8, inout("rcx") size => _,
                options(nostack, preserves_flags),
            );
        },
    }
    to
}

/// The functions that `_FORTIFY_SOURCE` calls, with the size of the target.
macro_rules! checked {
    ($($name:ident $to:ident $source:ty;)*) => {$(
        extern "C" fn $name(
            to: *mut c_void,
            source: $source,
            size: usize,
            room: usize,
            code: u64,
        ) -> *mut c_void {
            unsafe extern "C" {
                fn __chk_fail() -> !;
            }
            if size > room {
                // SAFETY: the C library's own end of such a program.
                unsafe { __chk_fail() }
            }
            $to(to, source, size, code)
        }
    )*};
}

checked! {
    checked_copy copy *const c_void;
    checked_shift shift *const c_void;
    checked_fill fill c_int;
}

/// # Safety
/// The program's own arguments: a C string, and room for it.
unsafe extern "C" fn copy_string(to: *mut c_char, from: *const c_char, code: u64) -> *mut c_char {
    // SAFETY: the caller's promise.
    let size = unsafe { libc::strlen(from) }.wrapping_add(1);
    copy(to.cast(), from.cast(), size, code).cast()
}

/// # Safety
/// The program's own arguments: a string that may be cut, and room for `size` bytes.
unsafe extern "C" fn copy_part(
    to: *mut c_char,
    from: *const c_char,
    size: usize,
    code: u64,
) -> *mut c_char {
    // SAFETY: the caller's promise.
    let whole = unsafe { libc::strnlen(from, size) };
    copy(to.cast(), from.cast(), whole, code);
    fill(
        to.wrapping_add(whole).cast(),
        0,
        size.wrapping_sub(whole),
        code,
    );
    to
}

/// # Safety
/// The program's own arguments: two C strings, and room for the second one.
unsafe extern "C" fn append(to: *mut c_char, from: *const c_char, code: u64) -> *mut c_char {
    // SAFETY: the caller's promise.
    let (end, size) = unsafe { (libc::strlen(to), libc::strlen(from).wrapping_add(1)) };
    copy(to.wrapping_add(end).cast(), from.cast(), size, code);
    to
}

/// Entry points, with the register of the argument that their caller's return address becomes.
macro_rules! with_code {
    ($($register:literal $name:ident => $to:ident;)*) => {$(
        #[cfg_attr(not(test), unsafe(no_mangle))]
        #[unsafe(naked)]
        unsafe extern "C" fn $name() {
            naked_asm!(concat!("mov ", $register, ", [rsp]"), "jmp {to}", to = sym $to)
        }
    )*};
}

with_code! {
    "rcx" memcpy => copy;
    "rcx" memmove => shift;
    "rcx" memset => fill;
    "rcx" __tsan_memcpy => copy;
    "rcx" __tsan_memmove => shift;
    "rcx" __tsan_memset => fill;
    "r8" __memcpy_chk => checked_copy;
    "r8" __memmove_chk => checked_shift;
    "r8" __memset_chk => checked_fill;
    "rdx" strcpy => copy_string;
    "rcx" strncpy => copy_part;
    "rdx" strcat => append;
}
