//! Synchronisation of the program's own, as it declares it: by the calls of Sun's Thread Analyzer
//! (`tha_interface.h`), by those of the sanitizer's interface, and by the older annotations.
#![allow(unsafe_code)]

use std::arch::naked_asm;
use std::ffi::{c_char, c_int, c_void};

use inside::At;
use race_stream::record::{Event, MUTEX_DECLARED, MUTEX_DECLARED_SHARED};

use crate::mutexes::{released, wants};
use crate::tls;

/// A release that is told after this is another one.
fn has(kind: u8, lock: u64, at: At) {
    tls::with(|thread| {
        thread.released = 0;
        thread.acquired(kind, lock, at.into());
    });
}

extern "C" fn wants_lock(lock: u64, at: At) {
    wants(MUTEX_DECLARED, lock, at);
}

extern "C" fn wants_read(lock: u64, at: At) {
    wants(MUTEX_DECLARED_SHARED, lock, at);
}

extern "C" fn has_lock(lock: u64, at: At) {
    has(MUTEX_DECLARED, lock, at);
}

extern "C" fn has_read(lock: u64, at: At) {
    has(MUTEX_DECLARED_SHARED, lock, at);
}

extern "C" fn will_release(lock: u64, at: At) {
    released(MUTEX_DECLARED, lock, at);
    tls::with(|thread| thread.released = lock);
}

/// A program may tell of a release before it, after it, or both.
extern "C" fn has_released(lock: u64, at: At) {
    let is_told = tls::with(|thread| std::mem::take(&mut thread.released) == lock);
    if !is_told {
        released(MUTEX_DECLARED, lock, at);
    }
}

extern "C" fn signal(object: u64) {
    tls::with(|thread| thread.event(&Event::Signal { object }));
}

extern "C" fn awaits(object: u64) {
    tls::with(|thread| thread.event(&Event::Await { object }));
}

extern "C" fn nothing(_object: u64) {}

/// Functions with a lock or an object as their argument, and those that Fortran calls, with the address
/// of one.
macro_rules! calls {
    ($($name:ident $fortran:ident => $to:ident;)*) => {$(
        #[cfg_attr(not(test), unsafe(no_mangle))]
        #[unsafe(naked)]
        unsafe extern "C" fn $name() {
            naked_asm!("mov rsi, rsp", "jmp {to}", to = sym $to)
        }

        #[cfg_attr(not(test), unsafe(no_mangle))]
        #[unsafe(naked)]
        unsafe extern "C" fn $fortran() {
            naked_asm!("mov rdi, [rdi]", "mov rsi, rsp", "jmp {to}", to = sym $to)
        }
    )*};
}

calls! {
    tha_notify_acquire_lock tha_notify_acquire_lock_ => wants_lock;
    tha_notify_lock_acquired tha_notify_lock_acquired_ => has_lock;
    tha_notify_acquire_writelock tha_notify_acquire_writelock_ => wants_lock;
    tha_notify_writelock_acquired tha_notify_writelock_acquired_ => has_lock;
    tha_notify_acquire_readlock tha_notify_acquire_readlock_ => wants_read;
    tha_notify_readlock_acquired tha_notify_readlock_acquired_ => has_read;
    tha_notify_release_lock tha_notify_release_lock_ => will_release;
    tha_notify_lock_released tha_notify_lock_released_ => has_released;
    tha_notify_sync_post_begin tha_notify_sync_post_begin_ => signal;
    tha_notify_sync_post_end tha_notify_sync_post_end_ => nothing;
    tha_notify_sync_wait_begin tha_notify_sync_wait_begin_ => nothing;
    tha_notify_sync_wait_end tha_notify_sync_wait_end_ => awaits;
}

/// Flags of the sanitizer's interface: taken by a reader; an attempt, and one that failed.
const READ: u32 = 1 << 3;
const TRY: u32 = 1 << 4;
const FAILED: u32 = 1 << 5;

fn kind(flags: u32) -> u8 {
    if flags & READ == 0 {
        MUTEX_DECLARED
    } else {
        MUTEX_DECLARED_SHARED
    }
}

extern "C" fn before_lock(lock: u64, flags: u32, at: At) {
    if flags & TRY == 0 {
        wants(kind(flags), lock, at);
    }
}

extern "C" fn after_lock(lock: u64, flags: u32, _recursion: c_int, at: At) {
    if flags & FAILED == 0 {
        has(kind(flags), lock, at);
    }
}

extern "C" fn before_unlock(lock: u64, _flags: u32, at: At) -> c_int {
    released(MUTEX_DECLARED, lock, at);
    1
}

macro_rules! with_call {
    ($($register:literal $name:ident => $to:ident;)*) => {$(
        #[cfg_attr(not(test), unsafe(no_mangle))]
        #[unsafe(naked)]
        unsafe extern "C" fn $name() {
            naked_asm!(concat!("mov ", $register, ", rsp"), "jmp {to}", to = sym $to)
        }
    )*};
}

with_call! {
    "rdx" __tsan_mutex_pre_lock => before_lock;
    "rcx" __tsan_mutex_post_lock => after_lock;
    "rdx" __tsan_mutex_pre_unlock => before_unlock;
}

#[cfg_attr(not(test), unsafe(no_mangle))]
extern "C" fn __tsan_mutex_create(_mutex: *const c_void, _flags: u32) {}

#[cfg_attr(not(test), unsafe(no_mangle))]
extern "C" fn __tsan_mutex_destroy(_mutex: *const c_void, _flags: u32) {}

#[cfg_attr(not(test), unsafe(no_mangle))]
extern "C" fn __tsan_mutex_post_unlock(_mutex: *const c_void, _flags: u32) {}

#[cfg_attr(not(test), unsafe(no_mangle))]
extern "C" fn __tsan_acquire(object: u64) {
    awaits(object);
}

#[cfg_attr(not(test), unsafe(no_mangle))]
extern "C" fn __tsan_release(object: u64) {
    signal(object);
}

#[cfg_attr(not(test), unsafe(no_mangle))]
extern "C" fn AnnotateHappensBefore(_file: *const c_char, _line: c_int, object: u64) {
    signal(object);
}

#[cfg_attr(not(test), unsafe(no_mangle))]
extern "C" fn AnnotateHappensAfter(_file: *const c_char, _line: c_int, object: u64) {
    awaits(object);
}
