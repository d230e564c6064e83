//! Shared memory and clocks: the one module of this crate that talks to the kernel and casts
//! mapped bytes. Everything that it hands out is made of atomics, for which any bit pattern is a
//! value and a write by the other process is no data race, so the rest of the crate is safe code.
#![allow(unsafe_code)]

use std::ffi::CString;
use std::fs::File;
use std::io;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};
use std::path::Path;
use std::ptr::NonNull;
use std::sync::atomic::{AtomicU32, AtomicU64};

use crate::layout::{Header, SlotHeader};

/// A shared mapping of a whole file, unmapped on drop.
#[derive(Debug)]
pub(crate) struct Mapping {
    base: NonNull<u8>,
    bytes: usize,
}

// SAFETY: the mapping is memory of the process, tied to no thread, and is only reached through
// references to atomics.
unsafe impl Send for Mapping {}
// SAFETY: as above.
unsafe impl Sync for Mapping {}

impl Mapping {
    /// Maps the first `bytes` bytes of `file`, readable and writable, shared: at least a header.
    pub(crate) fn new(file: &File, bytes: usize) -> io::Result<Mapping> {
        if bytes < size_of::<Header>() {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        // SAFETY: a fresh mapping at an address of the kernel's choice touches no other memory.
        let base = unsafe {
            libc::mmap(
                std::ptr::null_mut(),
                bytes,
                libc::PROT_READ | libc::PROT_WRITE,
                libc::MAP_SHARED | libc::MAP_NORESERVE,
                file.as_raw_fd(),
                0,
            )
        };
        if base == libc::MAP_FAILED {
            return Err(io::Error::last_os_error());
        }
        let base = NonNull::new(base.cast::<u8>()).ok_or(io::ErrorKind::AddrNotAvailable)?;
        // A core dump of the program under test should hold the program.
        // SAFETY: advice on the mapping made above.
        unsafe { libc::madvise(base.as_ptr().cast(), bytes, libc::MADV_DONTDUMP) };
        Ok(Mapping { base, bytes })
    }

    /// The header, at the start.
    pub(crate) fn header(&self) -> &Header {
        // SAFETY: `new` made the mapping at least as large as a header, and it is page aligned.
        // `Header` is `Shared`.
        unsafe { self.base.cast::<Header>().as_ref() }
    }

    /// `count` slot headers from byte `at`.
    pub(crate) fn slots(&self, at: usize, count: usize) -> &[SlotHeader] {
        self.many(at, count)
    }

    /// `count` 64-bit words from byte `at`.
    pub(crate) fn words(&self, at: usize, count: usize) -> &[AtomicU64] {
        self.many(at, count)
    }

    /// `count` 32-bit words from byte `at`.
    pub(crate) fn half_words(&self, at: usize, count: usize) -> &[AtomicU32] {
        self.many(at, count)
    }

    /// None at all for a range outside the mapping, or one that is not aligned: the program's
    /// end of the arena has no panics.
    fn many<T: Shared>(&self, at: usize, count: usize) -> &[T] {
        let end = count
            .checked_mul(size_of::<T>())
            .and_then(|size| at.checked_add(size));
        if !at.is_multiple_of(align_of::<T>()) || end.is_none_or(|end| end > self.bytes) {
            return &[];
        }
        // SAFETY: the range lies in the mapping, which lives as long as `self` and is page
        // aligned, so `at` decides alignment; both were checked. `Shared` types are atomics
        // only: every content is valid, and concurrent writes, even another process's, are no
        // races.
        unsafe { std::slice::from_raw_parts(self.base.as_ptr().add(at).cast(), count) }
    }
}

impl Drop for Mapping {
    fn drop(&mut self) {
        // SAFETY: our own mapping; references into it borrow `self`.
        unsafe { libc::munmap(self.base.as_ptr().cast(), self.bytes) };
    }
}

/// Types made of atomics alone, without padding that matters.
///
/// # Safety
/// Every field is an atomic integer, or an array or struct of such.
pub(crate) unsafe trait Shared {}
// SAFETY: all fields are atomics.
unsafe impl Shared for Header {}
// SAFETY: all fields are atomics.
unsafe impl Shared for SlotHeader {}
// SAFETY: is an atomic.
unsafe impl Shared for AtomicU64 {}
// SAFETY: is an atomic.
unsafe impl Shared for AtomicU32 {}

/// An anonymous memory file of `bytes` zero bytes, whose size nobody can change any more: a
/// program that shrank it would kill its reader by SIGBUS.
pub(crate) fn memory_file(name: &str, bytes: u64) -> io::Result<File> {
    let name = CString::new(name)?;
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

/// Opens an existing file for reading and writing.
pub(crate) fn open(path: &Path) -> io::Result<File> {
    File::options().read(true).write(true).open(path)
}

/// The time stamp counter; 0 where the machine has none.
#[inline(always)]
pub(crate) fn tsc() -> u64 {
    #[cfg(target_arch = "x86_64")]
    // SAFETY: reads a counter; `ClockSource::best` chose it on a processor that has one.
    return unsafe { core::arch::x86_64::_rdtsc() };
    #[cfg(not(target_arch = "x86_64"))]
    0
}

/// Asks for the cache line so many bytes beyond `place`, to write it soon. It need not be there.
#[inline(always)]
pub(crate) fn prefetch_to_write(place: &[AtomicU64; 2], bytes: usize) {
    #[cfg(target_arch = "x86_64")]
    // SAFETY: a hint, without effect on memory, and without a fault at any address. The one that
    // manuals give it is that of a LOCK prefix.
    unsafe {
        let ahead = place.as_ptr().wrapping_byte_add(bytes);
        core::arch::asm!("prefetchw [{}]", in(reg) ahead, options(nostack, preserves_flags));
    }
    #[cfg(not(target_arch = "x86_64"))]
    let _ = (place, bytes);
}

/// `CLOCK_MONOTONIC_RAW` in nanoseconds.
#[inline]
pub(crate) fn monotonic_raw() -> u64 {
    let mut time = libc::timespec {
        tv_sec: 0,
        tv_nsec: 0,
    };
    // SAFETY: writes the local timespec; this clock exists on every Linux, so it cannot fail.
    unsafe { libc::clock_gettime(libc::CLOCK_MONOTONIC_RAW, &mut time) };
    time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64
}

/// The four registers of a CPUID leaf: eax, ebx, ecx, edx.
#[cfg(target_arch = "x86_64")]
pub(crate) fn cpuid(leaf: u32) -> [u32; 4] {
    // Newer compilers know that the instruction is always there; the crate supports older ones.
    #[allow(unused_unsafe)]
    // SAFETY: every x86-64 processor has the instruction.
    let r = unsafe { core::arch::x86_64::__cpuid(leaf) };
    [r.eax, r.ebx, r.ecx, r.edx]
}
