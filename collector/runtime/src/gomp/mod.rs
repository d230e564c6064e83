//! Interposes the entry points of GCC's libgomp, which does not support OMPT.
//!
//! Preloaded, the definitions of [`entry`] take precedence over libgomp's. Each writes records to
//! the calling thread's ring and calls the real function ([`provider`]). The outlined functions
//! that the compiler passes to the runtime are replaced by our own ([`region`], [`task`]). They
//! mark the begin and end of every implicit and explicit task on the thread that executes it.
//!
//! Nothing is set up before the first call. Calls to a runtime with OMPT, such as LLVM's with its
//! `GOMP_*` functions, are passed through.
//!
//! The facts about libgomp's interface are those of GCC 12 and its `libgomp_g.h`.
//! `docs/runtimes.md` lists for each construct what is exact and what is not.
#![allow(unsafe_code)]

mod doacross;
mod entry;
mod kmpc;
mod kmpc_loops;
mod loops;
mod named;
mod ordered;
mod plain;
mod provider;
mod region;
pub(crate) mod state;
mod sync;
mod task;

use std::ffi::c_void;
use std::sync::atomic::{AtomicU32, Ordering::Relaxed};

use ompt::numbers::thread;

use crate::thread::Thread;
use crate::tls;

pub(crate) use provider::stand_back;

/// `ompt_thread_t`: a thread created by the program that calls the runtime.
const THREAD_INITIAL: u32 = thread::INITIAL as u32;
/// `ompt_thread_t`: a thread created by the runtime.
const THREAD_WORKER: u32 = thread::WORKER as u32;

/// Calls `f` with the calling thread's state; returns the default of `R` if the thread has none.
#[inline(always)]
fn with<R: Default>(f: impl FnOnce(&mut Thread) -> R) -> R {
    with_kind(THREAD_INITIAL, f)
}

/// As [`with`], but a thread that no runtime has announced gets this kind.
#[inline(always)]
fn with_kind<R: Default>(kind: u32, f: impl FnOnce(&mut Thread) -> R) -> R {
    tls::with(|thread| {
        if !thread.is_announced() {
            first(thread, kind);
        }
        f(thread)
    })
}

/// The calling thread's state as in [`with`]; `None` if it has none.
///
/// # Safety
/// That of [`tls::current`].
#[inline(always)]
unsafe fn current<'a>() -> Option<&'a mut Thread> {
    // SAFETY: the caller's promise.
    let thread = unsafe { tls::current() }?;
    if !thread.is_announced() {
        first(thread, THREAD_INITIAL);
    }
    Some(thread)
}

/// As [`with`], but only if the thread's state is still the one from which `token` was taken. The
/// child of a fork has a new one.
#[inline(always)]
fn with_same(token: usize, f: impl FnOnce(&mut Thread)) {
    if token != 0 {
        tls::with(|thread| {
            if thread.token() == token {
                f(thread);
            }
        });
    }
}

/// The thread's first event. libgomp does not report the end of a thread, but the C library does.
#[cold]
#[inline(never)]
fn first(thread: &mut Thread, kind: u32) {
    thread.thread_begin(kind);
    watch_end();
}

/// The calling thread's end will be told.
pub(crate) fn watch_end() {
    prepare();
    let key = KEY.load(Relaxed);
    if key != NO_KEY {
        // SAFETY: the key was made by `prepare`; its destructor takes any value but NULL.
        unsafe { libc::pthread_setspecific(key, (&raw const KEY).cast()) };
    }
}

/// No key could be created.
const NO_KEY: u32 = u32::MAX;
static KEY: AtomicU32 = AtomicU32::new(NO_KEY);

/// Prepares for threads. Called before the first event of the process.
fn prepare() {
    if KEY.load(Relaxed) != NO_KEY {
        return;
    }
    let mut key = 0;
    // SAFETY: creates a key whose destructor lives as long as the library, which is not unloaded.
    let made = unsafe { libc::pthread_key_create(&raw mut key, Some(thread_ends)) } == 0;
    if made && KEY.compare_exchange(NO_KEY, key, Relaxed, Relaxed).is_err() {
        // SAFETY: the key has not been published.
        unsafe { libc::pthread_key_delete(key) };
    }
}

unsafe extern "C" fn thread_ends(_value: *mut c_void) {
    tls::end(Thread::thread_end);
}
