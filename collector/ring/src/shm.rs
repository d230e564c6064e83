//! Shared memory: files of memory, and mappings of them. What a mapping returns is made of atomics. For them any
//! bit pattern is valid, and a write by the other process is no data race.
#![allow(unsafe_code)]

use std::ffi::{CStr, c_long};
use std::fs::File;
use std::io;
use std::marker::PhantomData;
use std::ops::Range;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd, RawFd};
use std::ptr::NonNull;
use std::sync::atomic::Ordering::{Acquire, Release};
use std::sync::atomic::{AtomicBool, AtomicU64};

/// A shared mapping of a range of a file, unmapped on drop.
#[derive(Debug)]
pub struct Mapping<'a> {
    base: NonNull<u8>,
    bytes: usize,
    /// It is a part of a [`Reserve`], which unmaps it.
    is_part: bool,
    reserve: PhantomData<&'a Reserve>,
}

// SAFETY: the mapping is memory of the process, tied to no thread, and is only reached through
// references to atomics.
unsafe impl Send for Mapping<'_> {}
// SAFETY: as above.
unsafe impl Sync for Mapping<'_> {}

impl Mapping<'_> {
    /// Maps `bytes` bytes of `file` from page-aligned offset `at`: readable, writable, shared.
    pub fn new(file: &impl AsRawFd, at: u64, bytes: usize) -> io::Result<Self> {
        Mapping::with(file, at, bytes, libc::PROT_READ | libc::PROT_WRITE)
    }

    fn with(file: &impl AsRawFd, at: u64, bytes: usize, access: libc::c_int) -> io::Result<Self> {
        // SAFETY: a fresh mapping at an address of the kernel's choice touches no other memory.
        let base = unsafe {
            libc::mmap(
                std::ptr::null_mut(),
                bytes,
                access,
                libc::MAP_SHARED | libc::MAP_NORESERVE,
                file.as_raw_fd(),
                at as libc::off_t,
            )
        };
        if base == libc::MAP_FAILED {
            return Err(io::Error::last_os_error());
        }
        let base = NonNull::new(base.cast::<u8>()).ok_or(io::ErrorKind::AddrNotAvailable)?;
        // Keeps the arena out of core dumps of the program under test.
        // SAFETY: advice on the mapping made above.
        unsafe { libc::madvise(base.as_ptr().cast(), bytes, libc::MADV_DONTDUMP) };
        Ok(Mapping {
            base,
            bytes,
            is_part: false,
            reserve: PhantomData,
        })
    }

    /// Permits to read and to write what is mapped.
    fn permit(&self) -> io::Result<()> {
        // SAFETY: the range is our own mapping's. What it holds is only reached as atomics.
        let result = unsafe {
            let access = libc::PROT_READ | libc::PROT_WRITE;
            libc::mprotect(self.base.as_ptr().cast(), self.bytes, access)
        };
        if result != 0 {
            return Err(io::Error::last_os_error());
        }
        Ok(())
    }

    /// Its length.
    pub fn bytes(&self) -> usize {
        self.bytes
    }

    /// Where it begins: memory that stays mapped as long as this value.
    pub fn start(&self) -> NonNull<u8> {
        self.base
    }

    /// `count` values from byte `at`. Empty if the range is outside the mapping or misaligned: the
    /// producer must not panic.
    pub fn values<T: Shared>(&self, at: usize, count: usize) -> &[T] {
        let end = count
            .checked_mul(size_of::<T>())
            .and_then(|size| at.checked_add(size));
        let is_aligned = at.is_multiple_of(align_of::<T>()) && align_of::<T>() <= PAGE;
        if !is_aligned || end.is_none_or(|end| end > self.bytes) {
            return &[];
        }
        // SAFETY: the range lies in the mapping, which lives as long as `self` and is page
        // aligned, so `at` decides alignment; both were checked. `T` is `Shared`: every content is
        // valid, and concurrent writes, even another process's, are no races.
        unsafe { std::slice::from_raw_parts(self.base.as_ptr().add(at).cast(), count) }
    }
}

/// The alignment of mappings.
const PAGE: usize = 4096;

impl Drop for Mapping<'_> {
    fn drop(&mut self) {
        if !self.is_part {
            // SAFETY: our own mapping; references into it borrow `self`.
            unsafe { libc::munmap(self.base.as_ptr().cast(), self.bytes) };
        }
    }
}

/// The rings of a file in the address space of the program under test.
///
/// They are mapped together while the library is loaded: later the program may have closed every file,
/// changed its root, or forbidden itself system calls. Until a thread opens its ring it is addresses and
/// no more: not even a program that locks all its memory has it in memory.
#[derive(Debug)]
pub(crate) struct Reserve {
    mapping: Mapping<'static>,
    ring_bytes: u64,
    /// The rings that are mapped.
    rings: Range<u32>,
    /// All of them are open.
    are_open: AtomicBool,
}

/// The part of a limited address space that rings may take.
const SHARE: u64 = 16;

impl Reserve {
    /// Maps the `count` rings of `ring_bytes` bytes each that begin at byte `at` of `file`. Where the
    /// address space is limited, some of them: which ones depends on the process, as all share the file.
    pub(crate) fn new(
        file: &impl AsRawFd,
        at: u64,
        ring_bytes: u64,
        count: u32,
    ) -> io::Result<Reserve> {
        let rings = match address_space_limit() {
            Some(limit) => {
                let fitting = (limit / SHARE / ring_bytes).clamp(1, count.into()) as u32;
                let first = std::process::id() % (count / fitting) * fitting;
                first..first + fitting
            }
            None => 0..count,
        };
        let at = at + u64::from(rings.start) * ring_bytes;
        let bytes = u64::from(rings.end - rings.start) * ring_bytes;
        let mapping = Mapping::with(file, at, bytes as usize, libc::PROT_NONE)?;
        Ok(Reserve {
            mapping,
            ring_bytes,
            rings,
            are_open: AtomicBool::new(false),
        })
    }

    /// The bytes that are mapped.
    pub(crate) fn bytes(&self) -> u64 {
        self.mapping.bytes as u64
    }

    /// The rings that are mapped, by their numbers.
    pub(crate) fn rings(&self) -> Range<usize> {
        self.rings.start as usize..self.rings.end as usize
    }

    /// Opens a ring for reading and writing. It stays so.
    pub(crate) fn open(&self, ring: u32) -> io::Result<Mapping<'_>> {
        if !self.rings.contains(&ring) {
            return Err(io::ErrorKind::InvalidInput.into());
        }
        let at = u64::from(ring - self.rings.start) * self.ring_bytes;
        // SAFETY: the ring is one of those mapped.
        let base = unsafe { self.mapping.base.add(at as usize) };
        let mapping = Mapping {
            base,
            bytes: self.ring_bytes as usize,
            is_part: true,
            reserve: PhantomData,
        };
        if !self.are_open.load(Acquire) {
            mapping.permit()?;
        }
        Ok(mapping)
    }

    /// Opens all rings, before the program forbids itself the system call that it takes.
    pub(crate) fn open_all(&self) {
        if self.mapping.permit().is_ok() {
            self.are_open.store(true, Release);
        }
    }
}

/// The most bytes of address space that the process may have (`ulimit -v`); `None` without a limit.
pub fn address_space_limit() -> Option<u64> {
    // SAFETY: rlimit is plain data, valid when zeroed; getrlimit fills it.
    let limit = unsafe {
        let mut limit: libc::rlimit = std::mem::zeroed();
        libc::getrlimit(libc::RLIMIT_AS, &raw mut limit);
        limit.rlim_cur
    };
    (limit != libc::RLIM_INFINITY).then_some(limit)
}

/// Types made of atomics alone, without significant padding.
///
/// # Safety
/// Every field is an atomic integer, or an array or struct of such.
pub unsafe trait Shared {}
// SAFETY: an atomic integer.
unsafe impl Shared for AtomicU64 {}

/// Creates an anonymous memory file of `bytes` zero bytes with a sealed size: a program that shrank
/// it would kill its reader by SIGBUS.
pub fn memory_file(name: &CStr, bytes: u64) -> io::Result<File> {
    // SAFETY: a valid C string; the descriptor returned is ours.
    let fd =
        unsafe { libc::memfd_create(name.as_ptr(), libc::MFD_CLOEXEC | libc::MFD_ALLOW_SEALING) };
    if fd < 0 {
        return Err(io::Error::last_os_error());
    }
    // SAFETY: a fresh descriptor that nothing else owns.
    let file = File::from(unsafe { OwnedFd::from_raw_fd(fd) });
    file.set_len(bytes)?;
    let seals = libc::F_SEAL_SHRINK | libc::F_SEAL_GROW | libc::F_SEAL_SEAL;
    // SAFETY: an fcntl on our own descriptor that takes an integer.
    if unsafe { libc::fcntl(file.as_raw_fd(), libc::F_ADD_SEALS, seals) } != 0 {
        return Err(io::Error::last_os_error());
    }
    Ok(file)
}

/// A file that is open in the program under test for a short time.
pub struct Opened(RawFd);

/// Opens an existing file for reading and writing. Uses system calls: the C library's function is a
/// cancellation point for a thread of the program.
pub fn open(path: &CStr) -> io::Result<Opened> {
    let flags = c_long::from(libc::O_RDWR | libc::O_CLOEXEC);
    // SAFETY: a C string and integers.
    let fd = unsafe {
        libc::syscall(
            libc::SYS_openat,
            c_long::from(libc::AT_FDCWD),
            path.as_ptr(),
            flags,
        )
    };
    if fd < 0 {
        return Err(io::Error::last_os_error());
    }
    Ok(Opened(fd as RawFd))
}

impl Opened {
    /// The file's length.
    pub fn bytes(&self) -> io::Result<u64> {
        // SAFETY: stat is plain data, valid when zeroed; fstat fills it.
        unsafe {
            let mut stat: libc::stat = std::mem::zeroed();
            if libc::fstat(self.0, &raw mut stat) != 0 {
                return Err(io::Error::last_os_error());
            }
            Ok(stat.st_size as u64)
        }
    }
}

impl AsRawFd for Opened {
    fn as_raw_fd(&self) -> RawFd {
        self.0
    }
}

impl Drop for Opened {
    fn drop(&mut self) {
        // SAFETY: our own descriptor, which nothing refers to any more.
        unsafe { libc::syscall(libc::SYS_close, c_long::from(self.0)) };
    }
}
