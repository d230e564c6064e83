//! The calling thread's own memory: its stack, and its thread-local storage.
#![allow(unsafe_code)]

use std::ops::Range;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use inside::objects::Segment;
use inside::stack::{initial_top, thread_register};

inside::thread_word!(stack "parallax_race_stack");

/// A thread's own memory.
pub(crate) struct OwnMemory {
    pub(crate) thread: u32,
    pub(crate) stack: Range<u64>,
    pub(crate) tls: Range<u64>,
}

/// The size of the initial thread's stack, and by default of others (`ulimit -s`); 0: not known yet.
static LIMIT: AtomicU64 = AtomicU64::new(0);

/// The begin and the end of thread-local memory, as distances to the thread register: the same for all
/// threads.
static LOCAL: [AtomicU64; 2] = [const { AtomicU64::new(0) }; 2];

/// Learns how large stacks are. Takes a system call.
pub(crate) fn learn_limit() {
    // SAFETY: rlimit is plain data, valid when zeroed; getrlimit fills it.
    let limit = unsafe {
        let mut limit: libc::rlimit = std::mem::zeroed();
        libc::getrlimit(libc::RLIMIT_STACK, &raw mut limit);
        limit.rlim_cur
    };
    LIMIT.store(limit, Relaxed);
}

/// Learns what [`own_memory`] tells of all threads. Called once.
pub(crate) fn learn_own_memory() {
    if LIMIT.load(Relaxed) == 0 {
        learn_limit();
    }
    let (local, register) = (thread_local(), thread_register());
    for (place, address) in LOCAL.iter().zip([local.start, local.end]) {
        place.store(address.wrapping_sub(register), Relaxed);
    }
}

/// The calling thread's own memory. It takes no lock, since the caller may hold any, as an allocator does:
/// the C library's function allocates.
pub(crate) fn own_memory() -> OwnMemory {
    /// Without a limit, nothing else lies this far below the initial thread's stack (`mmap_base` of the
    /// kernel).
    const UNLIMITED: u64 = 1 << 40;
    /// Without a limit, the C library's default for other threads (`ARCH_STACK_DEFAULT_SIZE`).
    const DEFAULT: u64 = 2 << 20;
    const PAGE: u64 = 4096;
    let (thread, register) = (known_thread(), thread_register());
    let limit = LIMIT.load(Relaxed);
    let size = |unlimited| match limit {
        libc::RLIM_INFINITY => unlimited,
        limit => limit,
    };
    let stack = if is_initial(thread) {
        let end = initial_top();
        end.saturating_sub(size(UNLIMITED))..end
    } else {
        // The C library puts the block to which the thread register points at the end of the stack.
        let end = register.next_multiple_of(PAGE);
        let bytes = match stack_bytes() {
            0 => size(DEFAULT),
            bytes => bytes,
        };
        end.saturating_sub(bytes)..end
    };
    let [start, end] = LOCAL
        .each_ref()
        .map(|it| register.wrapping_add(it.load(Relaxed)));
    OwnMemory {
        thread,
        stack,
        tls: start..end,
    }
}

/// The number of the calling thread, as the C library knows it, without a system call: it is a part of the
/// name of the thread's CPU clock (`MAKE_THREAD_CPUCLOCK` of the kernel). The C library's name for the thread
/// is its register's value; its function is one that we define.
pub(crate) fn known_thread() -> u32 {
    let mut clock = 0;
    // SAFETY: the thread is the calling one; the function writes the local value. The last call takes nothing,
    // and cannot fail.
    unsafe {
        match libc::pthread_getcpuclockid(thread_register(), &raw mut clock) {
            0 => !(clock >> 3) as u32,
            _ => libc::syscall(libc::SYS_gettid) as u32,
        }
    }
}

/// Whether the calling thread, which has this number, is the process's first.
pub(crate) fn is_initial(thread: u32) -> bool {
    // SAFETY: takes nothing, and cannot fail.
    thread == unsafe { libc::getpid() } as u32
}

/// The calling thread's blocks of thread-local memory. Those of libraries that were opened late lie
/// elsewhere, and are left out.
fn thread_local() -> Range<u64> {
    let mut all: Range<u64> = 0..0;
    inside::objects::each(|object| {
        let Some(Segment { filled, zero, .. }) = object.thread_local() else {
            return;
        };
        if all.is_empty() {
            all = filled.start..zero.end;
        } else if filled.start.abs_diff(all.start) < 1 << 20 {
            all = all.start.min(filled.start)..all.end.max(zero.end);
        }
    });
    all
}

/// The size of the calling thread's stack; 0: not known.
pub(crate) fn stack_bytes() -> u64 {
    stack::get() as u64
}

/// Notes it.
pub(crate) fn set_stack_bytes(value: u64) {
    stack::set(value as usize);
}
