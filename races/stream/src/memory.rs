//! The file of shared memory and its mappings. Everything mapped is atomic: any content is valid,
//! and what the other process writes meanwhile is no data race.
#![allow(unsafe_code)]

use std::ffi::CStr;
use std::fs::File;
use std::io;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd, RawFd};
use std::ptr::NonNull;
use std::sync::atomic::Ordering::{Relaxed, Release};
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64};

use crate::layout::{BYTES, HEADER_BYTES, Header, RING_WORDS, RINGS_AT, SLOTS, Slot};

/// The whole memory, mapped. Pages that nobody touches cost nothing.
#[derive(Debug)]
pub(crate) struct Memory {
    base: NonNull<u8>,
}

// SAFETY: memory of the process, bound to no thread, and reached through atomics only.
unsafe impl Send for Memory {}
// SAFETY: as above.
unsafe impl Sync for Memory {}

impl Memory {
    pub(crate) fn map(file: &impl AsRawFd) -> io::Result<Memory> {
        // SAFETY: a new mapping where the kernel likes it.
        let base = unsafe {
            libc::mmap(
                std::ptr::null_mut(),
                BYTES,
                libc::PROT_READ | libc::PROT_WRITE,
                libc::MAP_SHARED | libc::MAP_NORESERVE,
                file.as_raw_fd(),
                0,
            )
        };
        if base == libc::MAP_FAILED {
            return Err(io::Error::last_os_error());
        }
        // SAFETY: advice on that mapping: it is not part of a core dump.
        unsafe { libc::madvise(base, BYTES, libc::MADV_DONTDUMP) };
        let base = NonNull::new(base.cast()).ok_or(io::ErrorKind::AddrNotAvailable)?;
        Ok(Memory { base })
    }

    pub(crate) fn header(&self) -> &Header {
        // SAFETY: the mapping begins with it, page aligned; it consists of atomics.
        unsafe { self.base.cast().as_ref() }
    }

    pub(crate) fn slots(&self) -> &[Slot; SLOTS] {
        // SAFETY: they lie in the mapping, behind the header's page; they consist of atomics.
        unsafe { self.base.add(HEADER_BYTES).cast().as_ref() }
    }

    /// The ring of slot `index`; that of the last slot for a greater index.
    pub(crate) fn ring(&self, index: usize) -> &[AtomicU64; RING_WORDS] {
        let at = RINGS_AT + index.min(SLOTS - 1) * RING_WORDS * 8;
        // SAFETY: each slot's ring lies in the mapping; it consists of atomics.
        unsafe { self.base.add(at).cast().as_ref() }
    }
}

impl Drop for Memory {
    fn drop(&mut self) {
        // SAFETY: our own mapping; what refers to it borrows `self`.
        unsafe { libc::munmap(self.base.as_ptr().cast(), BYTES) };
    }
}

/// A new memory file of the right length, which nobody can change: a program that cut it would kill
/// its reader.
pub(crate) fn create() -> io::Result<File> {
    let flags = libc::MFD_CLOEXEC | libc::MFD_ALLOW_SEALING;
    // SAFETY: a C string; the descriptor is new and ours.
    let file = unsafe {
        let fd = libc::memfd_create(c"parallax-races".as_ptr(), flags);
        if fd < 0 {
            return Err(io::Error::last_os_error());
        }
        File::from(OwnedFd::from_raw_fd(fd))
    };
    file.set_len(BYTES as u64)?;
    let seals = libc::F_SEAL_SHRINK | libc::F_SEAL_GROW | libc::F_SEAL_SEAL;
    // SAFETY: a call on our own descriptor with an integer.
    match unsafe { libc::fcntl(file.as_raw_fd(), libc::F_ADD_SEALS, seals) } {
        0 => Ok(file),
        _ => Err(io::Error::last_os_error()),
    }
}

/// A file that is open in the program for as long as it is mapped. System calls are made directly:
/// the C library's functions may be the program's own.
struct Opened(RawFd);

impl AsRawFd for Opened {
    fn as_raw_fd(&self) -> RawFd {
        self.0
    }
}

impl Drop for Opened {
    fn drop(&mut self) {
        // SAFETY: our own descriptor.
        unsafe { libc::syscall(libc::SYS_close, i64::from(self.0)) };
    }
}

/// Maps the memory file at `path`, in the program.
pub(crate) fn attach(path: &CStr) -> io::Result<Memory> {
    let flags = i64::from(libc::O_RDWR | libc::O_CLOEXEC);
    let directory = i64::from(libc::AT_FDCWD);
    // SAFETY: a C string and integers.
    let fd = unsafe { libc::syscall(libc::SYS_openat, directory, path.as_ptr(), flags) };
    if fd < 0 {
        return Err(io::Error::last_os_error());
    }
    let file = Opened(fd as RawFd);
    // SAFETY: stat is plain data; the kernel fills it.
    let bytes = unsafe {
        let mut stat: libc::stat = std::mem::zeroed();
        if libc::fstat(file.0, &raw mut stat) != 0 {
            return Err(io::Error::last_os_error());
        }
        stat.st_size
    };
    if bytes != BYTES as i64 {
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
