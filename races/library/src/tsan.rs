//! The interface that compilers call for `-fsanitize=thread`: accesses, function entries and exits.
//!
//! An entry point passes the return address of its caller on, which names the instruction.
#![allow(unsafe_code)]

use std::arch::naked_asm;
use std::ffi::{c_int, c_void};

use race_stream::record::WRITE;

use crate::tls;

/// An access by the instruction before `code`; `kind` as [`Runs::add`](crate::runs::Runs::add) has it.
extern "C" fn access(address: u64, code: u64, kind: u32) {
    // SAFETY: the state's methods call neither the program nor a runtime.
    if let Some(thread) = unsafe { tls::existing() } {
        thread.access(address, code, kind);
    }
}

extern "C" fn range(address: u64, size: u64, code: u64, kind: u32) {
    // SAFETY: as above.
    if let Some(thread) = unsafe { tls::existing() } {
        thread.block_access(address, size, code, kind as u8);
    }
}

extern "C" fn enter(code: u64, stack: u64, base: u64) {
    // SAFETY: as above.
    match unsafe { tls::existing() } {
        Some(thread) => thread.enter_function(code, stack, base),
        None => tls::attach(0),
    }
}

macro_rules! accesses {
    ($($name:ident $pc_name:ident $size:literal $kind:expr;)*) => {$(
        #[cfg_attr(not(test), unsafe(no_mangle))]
        #[unsafe(naked)]
        unsafe extern "C" fn $name() {
            naked_asm!(
                "mov rsi, [rsp]",
                "mov edx, {kind}",
                "jmp {access}",
                kind = const ($size << 8 | $kind as u32),
                access = sym access,
            )
        }
        #[cfg_attr(not(test), unsafe(no_mangle))]
        #[unsafe(naked)]
        unsafe extern "C" fn $pc_name() {
            naked_asm!(
                "mov edx, {kind}",
                "jmp {access}",
                kind = const ($size << 8 | $kind as u32),
                access = sym access,
            )
        }
    )*};
}

accesses! {
    __tsan_read1 __tsan_read1_pc 1 0;
    __tsan_read2 __tsan_read2_pc 2 0;
    __tsan_read4 __tsan_read4_pc 4 0;
    __tsan_read8 __tsan_read8_pc 8 0;
    __tsan_read16 __tsan_read16_pc 16 0;
    __tsan_write1 __tsan_write1_pc 1 WRITE;
    __tsan_write2 __tsan_write2_pc 2 WRITE;
    __tsan_write4 __tsan_write4_pc 4 WRITE;
    __tsan_write8 __tsan_write8_pc 8 WRITE;
    __tsan_write16 __tsan_write16_pc 16 WRITE;
    __tsan_unaligned_read2 __tsan_unaligned_read2_pc 2 0;
    __tsan_unaligned_read4 __tsan_unaligned_read4_pc 4 0;
    __tsan_unaligned_read8 __tsan_unaligned_read8_pc 8 0;
    __tsan_unaligned_read16 __tsan_unaligned_read16_pc 16 0;
    __tsan_unaligned_write2 __tsan_unaligned_write2_pc 2 WRITE;
    __tsan_unaligned_write4 __tsan_unaligned_write4_pc 4 WRITE;
    __tsan_unaligned_write8 __tsan_unaligned_write8_pc 8 WRITE;
    __tsan_unaligned_write16 __tsan_unaligned_write16_pc 16 WRITE;
    __tsan_vptr_read __tsan_vptr_read_pc 8 0;
    __tsan_vptr_update __tsan_vptr_update_pc 8 WRITE;
}

macro_rules! ranges {
    ($($name:ident $pc_name:ident $kind:expr;)*) => {$(
        #[cfg_attr(not(test), unsafe(no_mangle))]
        #[unsafe(naked)]
        unsafe extern "C" fn $name() {
            naked_asm!(
                "mov rdx, [rsp]",
                "mov ecx, {kind}",
                "jmp {range}",
                kind = const ($kind as u32),
                range = sym range,
            )
        }
        #[cfg_attr(not(test), unsafe(no_mangle))]
        #[unsafe(naked)]
        unsafe extern "C" fn $pc_name() {
            naked_asm!(
                "mov ecx, {kind}",
                "jmp {range}",
                kind = const ($kind as u32),
                range = sym range,
            )
        }
    )*};
}

ranges! {
    __tsan_read_range __tsan_read_range_pc 0;
    __tsan_write_range __tsan_write_range_pc WRITE;
}

/// A function begins that was called from before `code`.
#[cfg_attr(not(test), unsafe(no_mangle))]
#[unsafe(naked)]
unsafe extern "C" fn __tsan_func_entry(_code: *const c_void) {
    naked_asm!("mov rsi, rsp", "mov rdx, rbp", "jmp {enter}", enter = sym enter)
}

#[cfg_attr(not(test), unsafe(no_mangle))]
extern "C" fn __tsan_func_exit() {
    // SAFETY: as in `access`.
    if let Some(thread) = unsafe { tls::existing() } {
        thread.leave_function();
    }
}

/// Called by each instrumented object as it is loaded.
#[cfg_attr(not(test), unsafe(no_mangle))]
#[unsafe(naked)]
unsafe extern "C" fn __tsan_init() {
    naked_asm!("mov rdi, [rsp]", "jmp {init}", init = sym init)
}

extern "C" fn init(code: u64) {
    crate::strings::note_object(code);
    tls::attach(0);
}

#[cfg_attr(not(test), unsafe(no_mangle))]
extern "C" fn __tsan_ignore_thread_begin() {
    tls::with(|thread| thread.set_ignoring(true));
}

#[cfg_attr(not(test), unsafe(no_mangle))]
extern "C" fn __tsan_ignore_thread_end() {
    tls::with(|thread| thread.set_ignoring(false));
}

/// The C library has this function only as part of each program; those linked with gcc's sanitizer
/// find it there.
#[cfg_attr(not(test), unsafe(no_mangle))]
extern "C-unwind" fn atexit(function: usize) -> c_int {
    crate::next::next!(
        c"__cxa_atexit",
        fn(usize, usize, usize) -> c_int,
        (function, 0, 0),
        -1
    )
}
