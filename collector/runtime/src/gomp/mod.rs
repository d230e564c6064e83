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
mod sync;
mod task;

use std::ffi::c_void;
use std::sync::atomic::{AtomicU32, Ordering::Relaxed};

use inside::At;
use inside::context::Call;
use omp_ring::record::InstanceId;
use ompt::numbers::thread;

use crate::thread::Thread;
use crate::tls;
use provider::Provider;

pub(crate) use provider::stand_back;

/// `ompt_thread_t`: a thread created by the program that calls the runtime.
const THREAD_INITIAL: u32 = thread::INITIAL as u32;
/// `ompt_thread_t`: a thread created by the runtime.
const THREAD_WORKER: u32 = thread::WORKER as u32;

/// The interposer's state of one thread. Valid when zeroed.
#[derive(Clone, Copy, Debug)]
pub(crate) struct State {
    /// Lower bound on the size of the current team; 0 outside regions. At least 2 if the team is
    /// larger than 1.
    team: u32,
    /// Number of its last region that was passed as in [`named`].
    number: u8,
    /// Number of dimensions of the last doacross loop that the thread entered.
    dimensions: u32,
    /// Whether it has waited for its turn in the current chunk of an ordered loop.
    in_turn: bool,
    /// The outlined function of the region that the thread is in.
    body: usize,
    /// The explicit task that it executes.
    task: Task,
    /// The runtime of the region that the thread is in.
    provider: Option<&'static Provider>,
    /// Regions that were opened by one call and will be closed by another.
    open: region::Opened,
}

impl State {
    /// Outside all constructs.
    pub(crate) const fn new() -> Self {
        State {
            team: 0,
            number: 0,
            dimensions: 0,
            in_turn: false,
            body: 0,
            task: Task::NONE,
            provider: None,
            open: region::Opened::new(),
        }
    }

    /// The thread's current call at `at`, which passes a function to the runtime.
    #[inline]
    fn call(&self, at: At, body: usize) -> Call {
        Call {
            code: at.code(),
            frame: at.frame(),
            body: body as u64,
            in_task: self.task.id != InstanceId::NONE,
            task_end: self.task.end,
        }
    }
}

/// An explicit task that a thread executes.
#[derive(Clone, Copy, Debug)]
struct Task {
    id: InstanceId,
    /// Stack frames from this address on belong to the thread that executes the task.
    end: u64,
}

impl Task {
    /// The thread is in its implicit task, or outside all constructs.
    const NONE: Task = Task {
        id: InstanceId::NONE,
        end: 0,
    };
}

impl Default for Task {
    fn default() -> Task {
        Task::NONE
    }
}

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
