//! What lies in the shared memory, who reads it, and how a thread waits.
#![allow(unsafe_code)]

use std::ffi::CStr;
use std::fs::File;
use std::io;
use std::os::fd::AsRawFd;
use std::sync::atomic::Ordering::{Relaxed, Release};
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64};

use omp_ring::shm::{self, Mapping};

use crate::layout::{BYTES, HEADER_BYTES, Header, RING_WORDS, RINGS_AT, SLOTS, Slot};

/// The whole memory, mapped. Pages that nobody touches cost nothing.
#[derive(Debug)]
pub(crate) struct Memory(Mapping<'static>);

impl Memory {
    pub(crate) fn map(file: &impl AsRawFd) -> io::Result<Memory> {
        Mapping::new(file, 0, BYTES).map(Memory)
    }

    pub(crate) fn header(&self) -> &Header {
        // SAFETY: the mapping begins with it, page aligned; it consists of atomics.
        unsafe { self.0.start().cast().as_ref() }
    }

    pub(crate) fn slots(&self) -> &[Slot; SLOTS] {
        // SAFETY: they lie in the mapping, behind the header's page; they consist of atomics.
        unsafe { self.0.start().add(HEADER_BYTES).cast().as_ref() }
    }

    /// The ring of slot `index`; that of the last slot for a greater index.
    pub(crate) fn ring(&self, index: usize) -> &[AtomicU64; RING_WORDS] {
        let at = RINGS_AT + index.min(SLOTS - 1) * RING_WORDS * 8;
        // SAFETY: each slot's ring lies in the mapping; it consists of atomics.
        unsafe { self.0.start().add(at).cast().as_ref() }
    }
}

/// A new memory file of the right length.
pub(crate) fn create() -> io::Result<File> {
    shm::memory_file(c"parallax-races", BYTES as u64)
}

/// Maps the memory file at `path`, in the program.
pub(crate) fn attach(path: &CStr) -> io::Result<Memory> {
    let file = shm::open(path)?;
    if file.bytes()? != BYTES as u64 {
        return Err(io::ErrorKind::InvalidData.into());
    }
    Memory::map(&file)
}

/// What the kernel writes to a word whose owner has ended (`FUTEX_OWNER_DIED` of linux/futex.h).
pub(crate) const OWNER_DIED: u32 = 0x4000_0000;

/// The words that a thread owns, as the kernel reads them when it ends (`robust_list_head` of linux/futex.h):
/// a ring of entries, here of one.
#[repr(C)]
struct Owned {
    first: *const Entry,
    /// The distance from an entry to its word.
    to_word: isize,
    pending: *const Entry,
    entry: Entry,
}

#[repr(C)]
struct Entry {
    next: *const Entry,
}

/// Has the calling thread own `word` while `f` runs. If the thread ends meanwhile, as it does when its process
/// is killed, the kernel sets [`OWNER_DIED`]; this does it in the end.
pub(crate) fn own(word: &AtomicU32, f: impl FnOnce()) {
    /// What the kernel read before: the C library's, which it needs for its own mutexes.
    struct Before(*const Owned);
    impl Drop for Before {
        fn drop(&mut self) {
            set_owned(self.0);
        }
    }
    let mut owned = Owned {
        first: std::ptr::null(),
        to_word: 0,
        pending: std::ptr::null(),
        entry: Entry {
            next: std::ptr::null(),
        },
    };
    let at = &raw mut owned;
    // SAFETY: `owned` is only reached by this pointer, and outlives what the kernel knows of it: `before` is
    // dropped first. The call takes nothing; the other one writes two local values.
    let before = unsafe {
        (*at).first = &raw const (*at).entry;
        // The head is an entry, too: the ring ends where it begins.
        (*at).entry.next = at.cast();
        let entry = (&raw const (*at).entry).cast::<u8>();
        (*at).to_word = word.as_ptr().cast::<u8>() as isize - entry as isize;
        word.store(libc::syscall(libc::SYS_gettid) as u32, Release);
        let (mut before, mut bytes) = (std::ptr::null(), 0usize);
        let (head, length) = (&raw mut before, &raw mut bytes);
        libc::syscall(libc::SYS_get_robust_list, 0i64, head, length);
        Before(before)
    };
    set_owned(at);
    f();
    drop(before);
    word.store(OWNER_DIED, Release);
}

/// Tells the kernel what the calling thread owns.
fn set_owned(owned: *const Owned) {
    let head_bytes = std::mem::offset_of!(Owned, entry);
    // SAFETY: the kernel keeps the address until the next such call, and reads there when the thread ends:
    // `own` keeps it valid.
    unsafe { libc::syscall(libc::SYS_set_robust_list, owned, head_bytes) };
}

static MAKES_NO_CALLS: AtomicBool = AtomicBool::new(false);

/// See [`crate::producer::wait_without_system_calls`].
pub(crate) fn wait_without_system_calls() {
    MAKES_NO_CALLS.store(true, Relaxed);
}

/// Lets another thread run, and at later tries sleeps for a tenth of a millisecond.
pub(crate) fn pause(tries: u32) {
    if MAKES_NO_CALLS.load(Relaxed) {
        return std::hint::spin_loop();
    }
    let nap = libc::timespec {
        tv_sec: 0,
        tv_nsec: 100_000,
    };
    // SAFETY: calls without memory of ours but `nap`, which is read.
    unsafe {
        if tries < 8 {
            libc::sched_yield();
        } else {
            libc::syscall(libc::SYS_nanosleep, &raw const nap, 0usize);
        }
    }
}

/// CLOCK_MONOTONIC, in nanoseconds.
pub(crate) fn now() -> u64 {
    let mut time = libc::timespec {
        tv_sec: 0,
        tv_nsec: 0,
    };
    // SAFETY: the kernel writes the local value.
    unsafe { libc::clock_gettime(libc::CLOCK_MONOTONIC, &raw mut time) };
    time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64
}
