//! Atomic operations. The compilers replace them by calls, so the library carries them out, always
//! sequentially consistent, and tells what order the program asked for.
//!
//! A release is written before the operation, an acquisition after it, so that their numbers are in
//! the order of the operations.
#![allow(unsafe_code)]

use std::arch::naked_asm;
use std::ffi::c_int;
use std::sync::atomic::{AtomicU8, AtomicU16, AtomicU32, AtomicU64, Ordering::SeqCst};

use race_stream::record::{ATOMIC, Event, WRITE};

use crate::{stack, tls, unwritten};

/// Memory orders as compilers number them.
const CONSUME: c_int = 1;
const ACQUIRE: c_int = 2;
const RELEASE: c_int = 3;
const ACQ_REL: c_int = 4;
const SEQ_CST: c_int = 5;

/// What an operation does to memory.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Does {
    Read,
    Write,
    Both,
}

/// Carries out `operation` at `address` and tells about it.
#[inline]
fn tell<R>(
    (address, size, code): (u64, u32, u64),
    order: c_int,
    does: Does,
    operation: impl FnOnce() -> R,
) -> R {
    // Bits above are hints for the processor.
    let order = order & 0xff;
    let object = address;
    let release = match order {
        RELEASE | ACQ_REL | SEQ_CST => Event::Signal { object },
        _ => Event::Offer { object },
    };
    if unwritten::is_on() {
        if does != Does::Write && unwritten::is_marked(address, size.into()) {
            // SAFETY: the method calls neither the program nor a runtime.
            if let Some(thread) = unsafe { tls::existing() } {
                thread.read_marked(address, size.into(), code);
            }
        }
        if does != Does::Read {
            unwritten::written(address, size.into());
        }
        stack::note_use();
    }
    let is_active = tls::with(|thread| {
        if !thread.is_active() {
            return false;
        }
        let write = if does == Does::Read { 0 } else { WRITE };
        thread.plain_access(address, code, size << 8 | u32::from(ATOMIC | write));
        if does != Does::Read {
            thread.event(&release);
        }
        true
    });
    let result = operation();
    if is_active && does != Does::Write {
        tls::with(|thread| {
            thread.event(&match order {
                CONSUME | ACQUIRE | ACQ_REL | SEQ_CST => Event::Await { object },
                _ => Event::Notice { object },
            });
            // What it wrote depends on what it read.
            if does == Does::Both {
                thread.event(&release);
            }
        });
    }
    result
}

macro_rules! sizes {
    ($($module:ident $type:ty, $atomic:ty, $size:literal,
       $load:ident $store:ident $exchange:ident
       $add:ident $sub:ident $and:ident $or:ident $xor:ident $nand:ident
       $strong:ident $weak:ident $val:ident;)*) => {$(
        mod $module {
            use super::*;

            /// # Safety
            /// `at` is the program's operand.
            #[inline(always)]
            unsafe fn atomic<'a>(at: u64) -> &'a $atomic {
                // SAFETY: the program's own operand, aligned for atomic operations.
                unsafe { &*(at as *const $atomic) }
            }

            extern "C" fn load(at: u64, order: c_int, code: u64) -> $type {
                // SAFETY: the program's arguments, here and below.
                tell((at, $size, code), order, Does::Read, || unsafe { atomic(at) }.load(SeqCst))
            }
            extern "C" fn store(at: u64, value: $type, order: c_int, code: u64) {
                // SAFETY: as above.
                tell((at, $size, code), order, Does::Write, || unsafe { atomic(at) }.store(value, SeqCst));
            }
            extern "C" fn exchange(at: u64, value: $type, order: c_int, code: u64) -> $type {
                // SAFETY: as above.
                tell((at, $size, code), order, Does::Both, || unsafe { atomic(at) }.swap(value, SeqCst))
            }
            extern "C" fn add(at: u64, value: $type, order: c_int, code: u64) -> $type {
                // SAFETY: as above.
                tell((at, $size, code), order, Does::Both, || unsafe { atomic(at) }.fetch_add(value, SeqCst))
            }
            extern "C" fn sub(at: u64, value: $type, order: c_int, code: u64) -> $type {
                // SAFETY: as above.
                tell((at, $size, code), order, Does::Both, || unsafe { atomic(at) }.fetch_sub(value, SeqCst))
            }
            extern "C" fn and(at: u64, value: $type, order: c_int, code: u64) -> $type {
                // SAFETY: as above.
                tell((at, $size, code), order, Does::Both, || unsafe { atomic(at) }.fetch_and(value, SeqCst))
            }
            extern "C" fn or(at: u64, value: $type, order: c_int, code: u64) -> $type {
                // SAFETY: as above.
                tell((at, $size, code), order, Does::Both, || unsafe { atomic(at) }.fetch_or(value, SeqCst))
            }
            extern "C" fn xor(at: u64, value: $type, order: c_int, code: u64) -> $type {
                // SAFETY: as above.
                tell((at, $size, code), order, Does::Both, || unsafe { atomic(at) }.fetch_xor(value, SeqCst))
            }
            extern "C" fn nand(at: u64, value: $type, order: c_int, code: u64) -> $type {
                // SAFETY: as above.
                tell((at, $size, code), order, Does::Both, || unsafe { atomic(at) }.fetch_nand(value, SeqCst))
            }
            /// Returns 1 if `*expected` was there, else stores there what was.
            extern "C" fn strong(
                at: u64, expected: *mut $type, value: $type, order: c_int, failure: c_int, code: u64,
            ) -> c_int {
                // SAFETY: as above.
                let wished = unsafe { expected.read_unaligned() };
                let found = val(at, wished, value, order, failure, code);
                if found != wished {
                    // SAFETY: as above.
                    unsafe { expected.write_unaligned(found) };
                }
                c_int::from(found == wished)
            }
            extern "C" fn val(
                at: u64, expected: $type, value: $type, order: c_int, _failure: c_int, code: u64,
            ) -> $type {
                tell((at, $size, code), order, Does::Both, || {
                    // SAFETY: as above.
                    match unsafe { atomic(at) }.compare_exchange(expected, value, SeqCst, SeqCst) {
                        Ok(found) | Err(found) => found,
                    }
                })
            }

            with_code! {
                "rdx" $load load;
                "rcx" $store store; "rcx" $exchange exchange;
                "rcx" $add add; "rcx" $sub sub; "rcx" $and and; "rcx" $or or; "rcx" $xor xor;
                "rcx" $nand nand;
                "r9" $strong strong; "r9" $weak strong; "r9" $val val;
            }
        }
    )*};
}

/// Entry points that pass the return address in the register behind the last argument's.
macro_rules! with_code {
    ($($register:literal $name:ident $to:ident;)*) => {$(
        #[cfg_attr(not(test), unsafe(no_mangle))]
        #[unsafe(naked)]
        unsafe extern "C" fn $name() {
            naked_asm!(concat!("mov ", $register, ", [rsp]"), "jmp {to}", to = sym $to)
        }
    )*};
}

sizes! {
    one u8, AtomicU8, 1,
        __tsan_atomic8_load __tsan_atomic8_store __tsan_atomic8_exchange
        __tsan_atomic8_fetch_add __tsan_atomic8_fetch_sub __tsan_atomic8_fetch_and
        __tsan_atomic8_fetch_or __tsan_atomic8_fetch_xor __tsan_atomic8_fetch_nand
        __tsan_atomic8_compare_exchange_strong __tsan_atomic8_compare_exchange_weak
        __tsan_atomic8_compare_exchange_val;
    two u16, AtomicU16, 2,
        __tsan_atomic16_load __tsan_atomic16_store __tsan_atomic16_exchange
        __tsan_atomic16_fetch_add __tsan_atomic16_fetch_sub __tsan_atomic16_fetch_and
        __tsan_atomic16_fetch_or __tsan_atomic16_fetch_xor __tsan_atomic16_fetch_nand
        __tsan_atomic16_compare_exchange_strong __tsan_atomic16_compare_exchange_weak
        __tsan_atomic16_compare_exchange_val;
    four u32, AtomicU32, 4,
        __tsan_atomic32_load __tsan_atomic32_store __tsan_atomic32_exchange
        __tsan_atomic32_fetch_add __tsan_atomic32_fetch_sub __tsan_atomic32_fetch_and
        __tsan_atomic32_fetch_or __tsan_atomic32_fetch_xor __tsan_atomic32_fetch_nand
        __tsan_atomic32_compare_exchange_strong __tsan_atomic32_compare_exchange_weak
        __tsan_atomic32_compare_exchange_val;
    eight u64, AtomicU64, 8,
        __tsan_atomic64_load __tsan_atomic64_store __tsan_atomic64_exchange
        __tsan_atomic64_fetch_add __tsan_atomic64_fetch_sub __tsan_atomic64_fetch_and
        __tsan_atomic64_fetch_or __tsan_atomic64_fetch_xor __tsan_atomic64_fetch_nand
        __tsan_atomic64_compare_exchange_strong __tsan_atomic64_compare_exchange_weak
        __tsan_atomic64_compare_exchange_val;
}

/// What gcc makes of `flush`, and compilers of C11's fences.
#[cfg_attr(not(test), unsafe(no_mangle))]
#[unsafe(naked)]
unsafe extern "C" fn __tsan_atomic_thread_fence() {
    naked_asm!("mov rdi, [rsp]", "jmp {fence}", fence = sym fence)
}

pub(crate) extern "C" fn fence(code: u64) {
    std::sync::atomic::fence(SeqCst);
    tls::with(|thread| thread.flush(code));
}

#[cfg_attr(not(test), unsafe(no_mangle))]
extern "C" fn __tsan_atomic_signal_fence(_order: c_int) {
    std::sync::atomic::compiler_fence(SeqCst);
}
