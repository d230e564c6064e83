//! Shared memory and clocks: the only module of this crate that makes system calls and casts mapped
//! bytes. All that it returns is made of atomics. For them any bit pattern is valid, and a write by
//! the other process is no data race, so the rest of the crate is safe code.
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

use crate::control::ControlQueue;
use crate::layout::{Header, SlotHeader, TABLES_BYTES, Tables};
use crate::samples::{SampleHeader, SampleSlot};

/// A shared mapping of a range of a file, unmapped on drop.
#[derive(Debug)]
pub(crate) struct Mapping<'a> {
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
    pub(crate) fn new(file: &impl AsRawFd, at: u64, bytes: usize) -> io::Result<Self> {
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

    /// `count` values from byte `at`. Empty if the range is outside the mapping or misaligned: the
    /// producer must not panic.
    pub(crate) fn values<T: Shared>(&self, at: usize, count: usize) -> &[T] {
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

/// The mapped headers of an arena.
#[derive(Debug)]
pub(crate) struct Headers(Mapping<'static>);

impl Headers {
    /// Maps the first `bytes` bytes of `file`: at least a header.
    pub(crate) fn new(file: &impl AsRawFd, bytes: usize) -> io::Result<Headers> {
        if bytes < size_of::<Header>() {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        Ok(Headers(Mapping::new(file, 0, bytes)?))
    }

    /// The arena's header, at the start.
    pub(crate) fn arena(&self) -> &Header {
        // SAFETY: `new` made the mapping at least as large as a header, and it is page aligned.
        // `Header` is `Shared`.
        unsafe { self.0.base.cast::<Header>().as_ref() }
    }

    /// The queue of calls at byte `at`; `None` if it is outside the mapping or misaligned.
    #[inline]
    pub(crate) fn calls(&self, at: usize) -> Option<&ControlQueue> {
        self.0.values(at, 1).first()
    }

    /// `count` slot headers from byte `at`; empty if the range is outside the mapping or misaligned.
    pub(crate) fn slots(&self, at: usize, count: usize) -> &[SlotHeader] {
        self.0.values(at, count)
    }
}

/// A record in a ring as two words.
pub(crate) type RecordWords = [AtomicU64; 2];

/// The mapped tables and ring of one slot, with one of its parts open.
///
/// The fields used to find a record come first: see [`Producer`](crate::producer::Producer).
#[derive(Debug)]
#[repr(C)]
pub(crate) struct Ring<'a> {
    /// The open part's first record, within the mapping.
    part: NonNull<RecordWords>,
    /// Records of a part minus one; a part has a power of two of them.
    mask: usize,
    /// Records of the ring minus one.
    last: usize,
    mapping: Mapping<'a>,
}

// SAFETY: `part` points into the mapping, which is this value's own.
unsafe impl Send for Ring<'_> {}

impl<'a> Ring<'a> {
    /// Bytes from the start of the struct to the end of the fields used to find a record.
    #[cfg(test)]
    pub(crate) const ACCESS_BYTES: usize = std::mem::offset_of!(Ring<'static>, last);

    /// The ring in a mapping of the tables and `records` records, in parts of `part` records; both are
    /// powers of two, and a ring has at least one part.
    pub(crate) fn new(mapping: Mapping<'a>, records: u32, part: u32) -> io::Result<Ring<'a>> {
        let bytes = TABLES_BYTES as usize + records as usize * size_of::<RecordWords>();
        let is_valid = records.is_power_of_two() && part.is_power_of_two() && part <= records;
        if !is_valid || bytes > mapping.bytes {
            return Err(io::ErrorKind::InvalidInput.into());
        }
        Ok(Ring {
            part: first(&mapping),
            mask: part as usize - 1,
            last: records as usize - 1,
            mapping,
        })
    }

    /// Opens part `number`, modulo the number of parts.
    #[inline]
    pub(crate) fn open(&mut self, number: u8) {
        let first = (usize::from(number) * (self.mask + 1)) & self.last;
        // SAFETY: the mapping has `last + 1` records, a multiple of a part's; `first` begins a part.
        self.part = unsafe { self::first(&self.mapping).add(first) };
    }

    /// The record at position `at` of the open part; positions run on across parts.
    #[inline(always)]
    pub(crate) fn record(&self, at: u64) -> &RecordWords {
        // SAFETY: the open part lies in the mapping and has `mask + 1` records. Atomics: every
        // content is valid, and concurrent writes are no races.
        unsafe { self.part.add(at as usize & self.mask).as_ref() }
    }
}

impl Ring<'_> {
    /// The thread's tables.
    #[inline(always)]
    pub(crate) fn tables(&self) -> &Tables {
        // SAFETY: the mapping begins with them, and is page aligned. `Tables` is `Shared`.
        unsafe { self.mapping.base.cast::<Tables>().as_ref() }
    }
}

/// The first record of a mapped ring.
#[inline(always)]
fn first(mapping: &Mapping<'_>) -> NonNull<RecordWords> {
    // SAFETY: the mapping has the records behind the tables.
    unsafe { mapping.base.add(TABLES_BYTES as usize).cast() }
}

/// Types made of atomics alone, without significant padding.
///
/// # Safety
/// Every field is an atomic integer, or an array or struct of such.
pub(crate) unsafe trait Shared {}
// SAFETY: an atomic integer.
unsafe impl Shared for AtomicU64 {}
// SAFETY: all fields are atomics.
unsafe impl Shared for SampleHeader {}
// SAFETY: all fields are atomics.
unsafe impl Shared for SampleSlot {}
// SAFETY: all fields are atomics.
unsafe impl Shared for Header {}
// SAFETY: all fields are atomics.
unsafe impl Shared for SlotHeader {}
// SAFETY: all fields are atomics.
unsafe impl Shared for Tables {}
// SAFETY: all fields are atomics.
unsafe impl Shared for ControlQueue {}
const _: () = {
    const fn is_shared<T: Shared>() {}
    is_shared::<Header>();
    is_shared::<SlotHeader>();
    is_shared::<Tables>();
    is_shared::<SampleHeader>();
    is_shared::<SampleSlot>();
    is_shared::<ControlQueue>();
};

/// Creates an anonymous memory file of `bytes` zero bytes with a sealed size: a program that shrank
/// it would kill its reader by SIGBUS.
pub(crate) fn memory_file(name: &CStr, bytes: u64) -> io::Result<File> {
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
pub(crate) struct Opened(RawFd);

/// Opens an existing file for reading and writing. Uses system calls: the C library's function is a
/// cancellation point for a thread of the program.
pub(crate) fn open(path: &CStr) -> io::Result<Opened> {
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
    pub(crate) fn bytes(&self) -> io::Result<u64> {
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

/// The time stamp counter; 0 on machines without one.
#[inline(always)]
pub(crate) fn tsc() -> u64 {
    #[cfg(target_arch = "x86_64")]
    // SAFETY: reads a counter; `ClockSource::best` chose it on a processor that has one.
    return unsafe { core::arch::x86_64::_rdtsc() };
    #[cfg(not(target_arch = "x86_64"))]
    0
}

/// Prefetches for writing the cache line `bytes` beyond `record`. The address need not be mapped.
#[inline(always)]
pub(crate) fn prefetch_to_write(record: &RecordWords, bytes: usize) {
    #[cfg(target_arch = "x86_64")]
    // SAFETY: a hint, without effect on memory, that faults at no address. The only exception that
    // manuals list for it is that of a LOCK prefix.
    unsafe {
        let ahead = record.as_ptr().wrapping_byte_add(bytes);
        core::arch::asm!("prefetchw [{}]", in(reg) ahead, options(nostack, preserves_flags));
    }
    #[cfg(not(target_arch = "x86_64"))]
    let _ = (record, bytes);
}

/// `CLOCK_MONOTONIC_RAW` in nanoseconds.
#[inline]
pub(crate) fn monotonic_raw() -> u64 {
    clock(libc::CLOCK_MONOTONIC_RAW)
}

#[inline]
fn clock(id: libc::clockid_t) -> u64 {
    let mut time = libc::timespec {
        tv_sec: 0,
        tv_nsec: 0,
    };
    // SAFETY: writes the local timespec; these clocks exist on every Linux, so it cannot fail.
    unsafe { libc::clock_gettime(id, &mut time) };
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
