//! The interface that compilers call for `-fsanitize=thread`: accesses, function entries and exits.
//!
//! An entry point passes the return address of its caller on, which names the instruction.
#![allow(unsafe_code)]

use std::arch::naked_asm;
use std::ffi::{c_int, c_void};

use race_stream::record::{Checks, WRITE};

use crate::thread::{self, Thread};
use crate::{looked_for, objects, stack, tls, unwritten};

/// An access by the instruction before `code`; `kind` as [`Runs::begin`](crate::runs::Runs::begin) has it.
#[unsafe(naked)]
unsafe extern "C" fn access(_address: u64, _code: u64, _kind: u32) {
    naked_asm!(
        // The thread's state: `tls::existing`.
        "mov rax, qword ptr [rip + parallax_race_thread@GOTTPOFF]",
        "mov rcx, qword ptr fs:[rax]",
        "cmp rcx, {refused}",
        "jbe 2f",
        "cmp byte ptr [rcx + {mode}], {records}",
        "jne 2f",
        "jmp {recorded}",
        "2:",
        "cmp qword ptr [rip + {marks}], 0",
        "jne 3f",
        "ret",
        "3:",
        "jmp {checked}",
        refused = const tls::REFUSED,
        mode = const thread::MODE_AT,
        records = const thread::RECORDS,
        recorded = sym recorded_access,
        marks = sym unwritten::MARKS,
        checked = sym checked_access,
    )
}

/// An access of a thread that records accesses.
extern "C" fn recorded_access(address: u64, code: u64, kind: u32, thread: &mut Thread) {
    thread.access(address, code, kind);
}

/// An access of a thread that may record accesses.
extern "C" fn accessed(address: u64, code: u64, kind: u32) {
    // SAFETY: the state's methods call neither the program nor a runtime.
    if let Some(thread) = unsafe { tls::existing() }
        && thread.is_active()
    {
        thread.access(address, code, kind);
    }
}

/// Of an access that writes what it has read. The reader of the stream takes it for a write.
const READ_TOO: u8 = 0x80;

/// As [`access`], while reads of unwritten memory are looked for. Most accesses come to its end without
/// any use of the stack, which would have to be filled again.
#[unsafe(naked)]
unsafe extern "C" fn checked_access(_address: u64, _code: u64, _kind: u32) {
    naked_asm!(
        // Whether functions have left something below the stack pointer: `tls::existing`.
        "mov rax, qword ptr [rip + parallax_race_thread@GOTTPOFF]",
        "mov rax, qword ptr fs:[rax]",
        "cmp rax, {refused}",
        "jbe 2f",
        "cmp qword ptr [rax + {used}], rsp",
        "jb 4f",
        // Whether any byte is marked: `unwritten::is_any_marked`.
        "2:",
        "mov rax, rdi",
        "shr rax, {address_bits}",
        "jne 3f",
        "mov rax, rdi",
        "shr rax, 3",
        "add rax, qword ptr [rip + {marks}]",
        "mov r8d, dword ptr [rax]",
        "mov ecx, edi",
        "and ecx, 7",
        "shr r8d, cl",
        "mov ecx, edx",
        "shr ecx, 8",
        "mov r9d, -1",
        "shl r9d, cl",
        "not r9d",
        "test r8d, r9d",
        "jne 4f",
        "3:",
        "test byte ptr [rip + {checks}], {race}",
        "jne 5f",
        "ret",
        "4:",
        "jmp {marked}",
        "5:",
        "jmp {access}",
        refused = const tls::REFUSED,
        used = const thread::USED_AT,
        address_bits = const unwritten::ADDRESS_BITS,
        marks = sym unwritten::MARKS,
        checks = sym looked_for::CHECKS,
        race = const Checks::RACE.0,
        marked = sym access_and_fill,
        access = sym accessed,
    )
}

/// As [`marked_access`], and fills what that returns.
#[unsafe(naked)]
unsafe extern "C" fn access_and_fill(_address: u64, _code: u64, _kind: u32) {
    naked_asm!(
        "mov rcx, rsp",
        "sub rsp, 8",
        "call {to}",
        "add rsp, 8",
        "mov rdi, rax",
        "jmp {fill}",
        to = sym marked_access,
        fill = sym stack::fill_from,
    )
}

/// An access to marked memory, or with something left below `stack`. Returns from where on that is to be
/// filled, 0: nowhere.
extern "C" fn marked_access(address: u64, code: u64, kind: u32, stack: u64) -> u64 {
    let size = (kind >> 8).into();
    let is_write = kind as u8 & WRITE != 0;
    if (!is_write || kind as u8 & READ_TOO != 0) && unwritten::is_marked(address, size) {
        // SAFETY: as above.
        if let Some(thread) = unsafe { tls::existing() } {
            thread.read_marked(address, size, code);
        }
    }
    if is_write {
        unwritten::written(address, size);
    }
    accessed(address, code, kind);
    // SAFETY: as above.
    unsafe { tls::existing() }.map_or(0, |thread| thread.undefine_below(stack, stack::OF_LIBRARY))
}

extern "C" fn range(address: u64, size: u64, code: u64, kind: u32) {
    // Ranges that are read are copies of structures, of which a part may be unwritten.
    if unwritten::is_on() {
        if kind as u8 & WRITE != 0 {
            unwritten::written_range(address, size);
        }
        stack::note_use();
    }
    block_access(address, size, code, kind as u8);
}

#[inline]
fn block_access(address: u64, size: u64, code: u64, kind: u8) {
    // SAFETY: as above.
    if let Some(thread) = unsafe { tls::existing() } {
        thread.block_access(address, size, code, kind);
    }
}

extern "C" fn enter(code: u64, stack: u64, base: u64) {
    // SAFETY: as above.
    match unsafe { tls::existing() } {
        Some(thread) => thread.enter_function(code, stack, base),
        None => tls::attach(0),
    }
}

/// As [`enter`]; returns from where on the memory below `stack` is to be filled, 0: nowhere.
extern "C" fn enter_and_undefine(code: u64, stack: u64, base: u64) -> u64 {
    // SAFETY: as above.
    let is_above = unsafe { tls::existing() }.is_some_and(|thread| thread.is_above_calls(stack));
    enter(code, stack, base);
    // SAFETY: as above.
    unsafe { tls::existing() }.map_or(0, |thread| {
        if is_above {
            // After `longjmp`, or on a signal's own stack, which lies in a frame of this one.
            thread.leave_as_used(stack);
            return 0;
        }
        thread.undefine_below(stack, stack::OF_LIBRARY)
    })
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
    __tsan_read_write1 __tsan_read_write1_pc 1 WRITE | READ_TOO;
    __tsan_read_write2 __tsan_read_write2_pc 2 WRITE | READ_TOO;
    __tsan_read_write4 __tsan_read_write4_pc 4 WRITE | READ_TOO;
    __tsan_read_write8 __tsan_read_write8_pc 8 WRITE | READ_TOO;
    __tsan_read_write16 __tsan_read_write16_pc 16 WRITE | READ_TOO;
    __tsan_unaligned_read_write2 __tsan_unaligned_read_write2_pc 2 WRITE | READ_TOO;
    __tsan_unaligned_read_write4 __tsan_unaligned_read_write4_pc 4 WRITE | READ_TOO;
    __tsan_unaligned_read_write8 __tsan_unaligned_read_write8_pc 8 WRITE | READ_TOO;
    __tsan_unaligned_read_write16 __tsan_unaligned_read_write16_pc 16 WRITE | READ_TOO;
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
    naked_asm!(
        "mov rsi, rsp",
        "mov rdx, rbp",
        "cmp qword ptr [rip + {marks}], 0",
        "jne 2f",
        "jmp {enter}",
        "2:",
        "sub rsp, 8",
        "call {undefine}",
        "add rsp, 8",
        "mov rdi, rax",
        "jmp {fill}",
        enter = sym enter,
        undefine = sym enter_and_undefine,
        fill = sym stack::fill_from,
        marks = sym unwritten::MARKS,
    )
}

extern "C" fn leave() {
    // SAFETY: as in `access`.
    if let Some(thread) = unsafe { tls::existing() } {
        thread.leave_function();
    }
}

/// As [`leave`]; returns as [`enter_and_undefine`] does.
extern "C" fn leave_and_undefine(stack: u64) -> u64 {
    leave();
    // SAFETY: as above.
    unsafe { tls::existing() }.map_or(0, |thread| thread.undefine_below(stack, stack::OF_LIBRARY))
}

#[cfg_attr(not(test), unsafe(no_mangle))]
#[unsafe(naked)]
unsafe extern "C" fn __tsan_func_exit() {
    naked_asm!(
        "cmp qword ptr [rip + {marks}], 0",
        "jne 2f",
        "jmp {leave}",
        "2:",
        "mov rdi, rsp",
        "sub rsp, 8",
        "call {undefine}",
        "add rsp, 8",
        "mov rdi, rax",
        "jmp {fill}",
        leave = sym leave,
        undefine = sym leave_and_undefine,
        fill = sym stack::fill_from,
        marks = sym unwritten::MARKS,
    )
}

/// Called by each instrumented object as it is loaded.
#[cfg_attr(not(test), unsafe(no_mangle))]
#[unsafe(naked)]
unsafe extern "C" fn __tsan_init() {
    naked_asm!("mov rdi, [rsp]", "jmp {init}", init = sym init)
}

extern "C" fn init(code: u64) {
    if objects::note_instrumented(code) {
        unwritten::add_object(code);
    }
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
    inside::next!(
        c"__cxa_atexit",
        fn(usize, usize, usize) -> c_int,
        (function, 0, 0),
        -1
    )
}
