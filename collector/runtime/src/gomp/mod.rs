//! GCC's libgomp, which has no interface for tools: its entry points are interposed.
//!
//! Preloaded, the definitions of [`entry`] win over libgomp's. Each writes records to the calling
//! thread's ring and calls the real function ([`provider`]). The outlined functions
//! that the compiler hands to the runtime are replaced by our own ([`region`], [`task`]), so that
//! begin and end of every implicit and explicit task are known on the thread that runs it.
//!
//! Nothing is set up before the first call. A runtime that speaks OMPT, LLVM's with its
//! `GOMP_*` names among them, is passed through.
//!
//! The facts about libgomp's interface are those of GCC 12 and its `libgomp_g.h`; what is
//! exact and what is not is told construct by construct in `docs/runtimes.md`.
#![allow(unsafe_code)]

mod doacross;
mod entry;
mod kmpc;
mod named;
mod ordered;
mod plain;
mod provider;
mod region;
mod sync;
mod task;

use std::ffi::c_void;
use std::sync::atomic::{AtomicU32, Ordering::Relaxed};

use omp_ring::record::InstanceId;

use crate::context::Call;
use crate::thread::Thread;
use crate::tls;
use entry::At;
use provider::Provider;

pub(crate) use provider::stand_back;

/// `ompt_thread_t`: a thread of the program's making that calls the runtime.
const THREAD_INITIAL: u32 = 1;
/// `ompt_thread_t`: a thread of the runtime's making.
const THREAD_WORKER: u32 = 2;

/// What the interposer knows of one thread. Valid when zeroed.
#[derive(Clone, Copy, Debug)]
pub(crate) struct State {
    /// A lower bound on the size of the team that the thread works in, at least 2 where that is; 0
    /// outside regions.
    team: u32,
    /// How its last region was numbered that was [`named`].
    number: u8,
    /// Dimensions of the doacross loop that the thread entered last.
    dimensions: u32,
    /// Whether it has waited for its turn in the chunk of an ordered loop that it works on.
    in_turn: bool,
    /// The explicit task that it runs.
    task: Task,
    /// The runtime of the region that the thread is in.
    provider: Option<&'static Provider>,
    /// Regions that were opened by one call and are to be closed by another.
    open: region::Opened,
}

impl State {
    /// Outside everything.
    pub(crate) const fn new() -> Self {
        State {
            team: 0,
            number: 0,
            dimensions: 0,
            in_turn: false,
            task: Task::NONE,
            provider: None,
            open: region::Opened::new(),
        }
    }

    /// The call at `at`, made by the thread now, which gives the runtime a function to run.
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

/// An explicit task that a thread runs.
#[derive(Clone, Copy, Debug)]
struct Task {
    id: InstanceId,
    /// The stack from here on belongs to whoever runs it.
    end: u64,
}

impl Task {
    /// The thread is in its implicit task, or outside everything.
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

/// Calls `f` with the calling thread's state; the default of `R` where the thread could get none.
#[inline(always)]
fn with<R: Default>(f: impl FnOnce(&mut Thread) -> R) -> R {
    with_kind(THREAD_INITIAL, f)
}

/// As [`with`], for a thread that is of this kind if no runtime has announced it.
#[inline(always)]
fn with_kind<R: Default>(kind: u32, f: impl FnOnce(&mut Thread) -> R) -> R {
    tls::with(|thread| {
        if !thread.is_known() {
            first(thread, kind);
        }
        f(thread)
    })
}

/// The calling thread's state, as [`with`] gives it; `None` where it could get none.
///
/// # Safety
/// That of [`tls::current`].
#[inline(always)]
unsafe fn current<'a>() -> Option<&'a mut Thread> {
    // SAFETY: the caller's promise.
    let thread = unsafe { tls::current() }?;
    if !thread.is_known() {
        first(thread, THREAD_INITIAL);
    }
    Some(thread)
}

/// As [`with`], where the thread's state is still the one that `token` was taken of, and not a
/// new one in the child of a fork.
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

/// The thread's first event: libgomp does not tell when a thread ends, the C library does.
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

/// No key could be had.
const NO_KEY: u32 = u32::MAX;
static KEY: AtomicU32 = AtomicU32::new(NO_KEY);

/// Makes ready for threads. Called before the first event of the process.
fn prepare() {
    crate::stack::prepare();
    let mut key = 0;
    // SAFETY: makes a key with a destructor that lives as long as the library, which stays.
    let made = unsafe { libc::pthread_key_create(&raw mut key, Some(thread_ends)) } == 0;
    if made && KEY.compare_exchange(NO_KEY, key, Relaxed, Relaxed).is_err() {
        // SAFETY: nobody else has seen this key.
        unsafe { libc::pthread_key_delete(key) };
    }
}

unsafe extern "C" fn thread_ends(_value: *mut c_void) {
    tls::end(Thread::thread_end);
}
