//! Which memory the program has not written: `collect -r init`.
//!
//! One bit for each byte of the address space, set where memory became undefined and cleared by writes. A
//! write by code without instrumentation clears nothing. So memory that becomes undefined is also filled
//! with a pattern: a read is of unwritten memory if its bytes are marked and still hold the pattern. Static
//! memory, which is zero and must stay so, is marked and not filled; there zero takes the pattern's place.
//!
//! The bits are copied with the bytes, so that a copy is no read. A read that was told clears its bits: each
//! byte is told of once.
#![allow(unsafe_code)]

use std::sync::OnceLock;
use std::sync::atomic::{AtomicU8, AtomicU64, AtomicUsize, Ordering::Relaxed};

use inside::objects::Segment;
use race_stream::producer::Shared;

use crate::objects::{self, Ranges};

/// What undefined memory holds, by an address's last three bits. Its bytes occur in no UTF-8 text; as a
/// pointer it is no address, and as a number it is great.
pub(crate) const PATTERN: u64 = 0xc1f5_f9fa_f6f7_fbfd;

/// Bits of an address of a program.
pub(crate) const ADDRESS_BITS: u32 = 47;

/// Bytes of the mapping, and some more: a look at 16 bytes takes four bytes of marks.
const MAPPED: usize = (1 << (ADDRESS_BITS - 3)) + 4096;

/// The address of the marks; 0 while nothing is checked.
pub(crate) static MARKS: AtomicUsize = AtomicUsize::new(0);

/// Whether reads of unwritten memory are looked for.
#[inline(always)]
pub(crate) fn is_on() -> bool {
    MARKS.load(Relaxed) != 0
}

/// Where it is counted what is not looked at.
static SHARED: OnceLock<&'static Shared> = OnceLock::new();

/// Maps the marks. What was not checked is counted in `shared`.
pub(crate) fn start(shared: &'static Shared) {
    let _ = SHARED.set(shared);
    // SAFETY: a new mapping where the kernel likes it, which nothing else refers to. Huge pages would be
    // memory for marks of addresses that nobody has.
    let base = unsafe {
        let base = libc::mmap(
            std::ptr::null_mut(),
            MAPPED,
            libc::PROT_READ | libc::PROT_WRITE,
            libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_NORESERVE,
            -1,
            0,
        );
        if base != libc::MAP_FAILED {
            libc::madvise(base, MAPPED, libc::MADV_DONTDUMP);
            libc::madvise(base, MAPPED, libc::MADV_NOHUGEPAGE);
        }
        base
    };
    if base == libc::MAP_FAILED {
        shared.count_unmarked(u64::MAX);
        return;
    }
    // SAFETY: a plain value, which the kernel fills.
    let memory = unsafe {
        let mut info: libc::sysinfo = std::mem::zeroed();
        libc::sysinfo(&raw mut info);
        info.totalram.saturating_mul(info.mem_unit.into())
    };
    MOST_FILLED.store(memory / 2, Relaxed);
    MARKS.store(base as usize, Relaxed);
    objects::instrumented().for_each(add_object);
}

/// Nothing is checked any more.
pub(crate) fn stop() {
    MARKS.store(0, Relaxed);
}

/// The marks of the eight bytes with `address`.
#[inline(always)]
fn marks_of(address: u64) -> &'static AtomicU8 {
    let at = MARKS.load(Relaxed) + (address >> 3) as usize;
    // SAFETY: callers have seen that the marks are mapped, and that the address is one of a program.
    unsafe { &*(at as *const AtomicU8) }
}

/// Whether an address has marks.
#[inline(always)]
fn has_marks(address: u64) -> bool {
    address >> ADDRESS_BITS == 0 && is_on()
}

/// The marks of up to 16 bytes from `address` on, the first in the lowest bit, and a mask of as many bits.
#[inline(always)]
fn look(address: u64, size: u64) -> (u32, u32) {
    let at = MARKS.load(Relaxed) + (address >> 3) as usize;
    let marks: u32;
    // SAFETY: `has_marks`; four bytes of an existing mapping, which other threads may change meanwhile: any
    // value is one.
    unsafe {
        std::arch::asm!(
            "mov {marks:e}, dword ptr [{at}]",
            at = in(reg) at,
            marks = out(reg) marks,
            options(nostack, readonly, preserves_flags),
        );
    }
    let mask = (1_u32 << (size & 31)) - 1;
    (marks >> (address & 7) & mask, mask)
}

/// Whether all of up to 16 bytes are marked.
#[inline(always)]
pub(crate) fn is_marked(address: u64, size: u64) -> bool {
    has_marks(address) && {
        let (marks, mask) = look(address, size);
        marks == mask
    }
}

/// Whether any of up to 16 bytes is marked.
#[inline(always)]
pub(crate) fn is_any_marked(address: u64, size: u64) -> bool {
    has_marks(address) && look(address, size).0 != 0
}

/// Up to 16 bytes are written.
#[inline(always)]
pub(crate) fn written(address: u64, size: u64) {
    if is_any_marked(address, size) {
        clear(address, address + size);
    }
}

/// Any number of bytes are written.
pub(crate) fn written_range(address: u64, size: u64) {
    if has_marks(address) && has_marks(address.saturating_add(size)) {
        clear(address, address + size);
    }
}

/// A change of marks.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Change {
    Set,
    Clear,
}

fn change(address: u64, bits: u8, to: Change) {
    let marks = marks_of(address);
    let old = marks.load(Relaxed);
    // Other threads may change other bits of the same byte.
    match to {
        Change::Set if old & bits != bits => _ = marks.fetch_or(bits, Relaxed),
        Change::Clear if old & bits != 0 => _ = marks.fetch_and(!bits, Relaxed),
        _ => {}
    }
}

/// The bits of the bytes `begin..end` among the eight with `begin`.
const fn bits(begin: u64, end: u64) -> u8 {
    let first = begin & 7;
    let last = if end - begin + first > 8 {
        8
    } else {
        end - begin + first
    };
    ((0xff_u16 << first) & ((1 << last) - 1)) as u8
}

/// Changes the marks of `begin..end`; `whole` those of the eights in the middle.
fn each(begin: u64, end: u64, to: Change, whole: impl FnOnce(u64, u64)) {
    if begin >= end {
        return;
    }
    let (first, last) = (begin.next_multiple_of(8), end & !7);
    if first > last || first > begin && first >= end {
        change(begin, bits(begin, end), to);
        return;
    }
    if begin < first {
        change(begin, bits(begin, first), to);
    }
    if first < last {
        whole(first, last);
    }
    if last < end {
        change(last, bits(last, end), to);
    }
}

/// Marks `begin..end`.
pub(crate) fn mark(begin: u64, end: u64) {
    if !has_marks(begin) || !has_marks(end) {
        return;
    }
    each(begin, end, Change::Set, |first, last| {
        let at = std::ptr::from_ref(marks_of(first)) as u64;
        // SAFETY: marks of memory that belongs to one thread now, and no reference to them is in use. Not
        // the C library's function, which may be ours.
        unsafe {
            std::arch::asm!(
                "rep stosb",
                inout("rdi") at => _, in("al") 0xff_u8, inout("rcx") (last - first) / 8 => _,
                options(nostack, preserves_flags),
            );
        }
    });
}

/// Clears the marks of `begin..end`. Memory that has none is not touched: it would become there.
fn clear(begin: u64, end: u64) {
    each(begin, end, Change::Clear, |first, last| {
        let (mut at, end) = (first, last);
        while at < end {
            let marks = marks_of(at);
            let address = std::ptr::from_ref(marks) as u64;
            if address.is_multiple_of(8) && end - at >= 64 {
                // SAFETY: eight bytes of marks, aligned.
                let eight = unsafe { &*(address as *const AtomicU64) };
                if eight.load(Relaxed) != 0 {
                    eight.store(0, Relaxed);
                }
                at += 64;
            } else {
                if marks.load(Relaxed) != 0 {
                    marks.store(0, Relaxed);
                }
                at += 8;
            }
        }
    });
}

/// `size` bytes are copied: so are their marks. Memory that another alignment moves holds no pattern any
/// more, and is taken as written.
pub(crate) fn copied(to: u64, from: u64, size: u64) {
    let ends = [to, from].map(|at| at.saturating_add(size));
    if !has_marks(ends[0]) || !has_marks(ends[1]) {
        return;
    }
    if to & 7 != from & 7 {
        clear(to, ends[0]);
        return;
    }
    let one = |at: u64, bits: u8| {
        let marks = marks_of(from.wrapping_add(at.wrapping_sub(to))).load(Relaxed) & bits;
        change(at, !marks & bits, Change::Clear);
        if marks != 0 {
            change(at, marks, Change::Set);
        }
    };
    // As bytes are moved: the lowest first if the source lies above.
    let mut at = to;
    if to <= from {
        while at < ends[0] {
            let end = ((at & !7) + 8).min(ends[0]);
            one(at, bits(at, end));
            at = end;
        }
    } else {
        let mut end = ends[0];
        while end > to {
            at = ((end - 1) & !7).max(to);
            one(at, bits(at, end));
            end = at;
        }
    }
}

/// Fills `begin..end` with the pattern.
///
/// # Safety
/// The memory is the program's, writable, and holds no value.
unsafe fn fill(begin: u64, end: u64) {
    let byte = |at: u64| {
        let [one, ..] = (PATTERN >> (8 * (at & 7))).to_le_bytes();
        // SAFETY: the caller's promise.
        unsafe { (at as *mut u8).write_volatile(one) };
    };
    let first = begin.next_multiple_of(8).min(end);
    let last = (end & !7).max(first);
    (begin..first).for_each(byte);
    // SAFETY: the caller's promise. Not the C library's function, which may be ours.
    unsafe {
        std::arch::asm!(
            "rep stosq",
            inout("rdi") first => _, in("rax") PATTERN, inout("rcx") (last - first) / 8 => _,
            options(nostack, preserves_flags),
        );
    }
    (last..end).for_each(byte);
}

/// `begin..end` becomes undefined.
///
/// # Safety
/// The memory is the program's, writable, and holds no value.
pub(crate) unsafe fn undefine(begin: u64, end: u64) {
    if has_marks(begin) && has_marks(end) {
        mark(begin, end);
        // SAFETY: the caller's promise.
        unsafe { fill(begin, end) };
    }
}

/// The bytes of a word whose marks are set.
fn bytes_of(marks: u8) -> u64 {
    (0..8)
        .filter(|byte| marks >> byte & 1 != 0)
        .fold(0, |all, byte| all | 0xff << (8 * byte))
}

/// Whether the marked bytes of the words with `size` bytes at `address` hold what `expected` says.
///
/// # Safety
/// The program is about to read these bytes.
unsafe fn holds(address: u64, size: u64, expected: u64) -> bool {
    (address & !7..address + size).step_by(8).all(|at| {
        // SAFETY: an aligned word with a byte that can be read can be read.
        let word = unsafe { (at as *const u64).read_volatile() };
        (word ^ expected) & bytes_of(marks_of(at).load(Relaxed)) == 0
    })
}

/// What a read of marked memory is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Unwritten {
    /// Code without instrumentation has written there.
    No,
    /// Nothing has.
    Yes,
    /// A thread's own variable: nothing has, but the initial thread's was written.
    Elsewhere,
}

/// What the program finds that reads `size` marked bytes, in a thread with this block of thread-local
/// memory. The bytes are marked no more.
///
/// # Safety
/// The program is about to read them.
pub(crate) unsafe fn read(address: u64, size: u64, tls_end: u64, is_tls: bool) -> Unwritten {
    // SAFETY: the caller's promise.
    let found = unsafe {
        if holds(address, size, PATTERN) {
            Unwritten::Yes
        } else if is_tls {
            let initial = INITIAL_TLS_END.load(Relaxed);
            let there = initial.wrapping_sub(tls_end).wrapping_add(address);
            let is_elsewhere = initial != 0 && there != address && !is_marked(there, size);
            match (holds(address, size, 0), is_elsewhere) {
                (true, true) => Unwritten::Elsewhere,
                // Other threads ask later whether it was written.
                (true, false) => return Unwritten::No,
                (false, _) => Unwritten::No,
            }
        } else if ZEROED.contains(address) && holds(address, size, 0) {
            Unwritten::Yes
        } else {
            Unwritten::No
        }
    };
    clear(address, address + size);
    found
}

/// The memory of instrumented objects that is zero at first.
static ZEROED: Ranges = Ranges::new();
/// The end of the initial thread's thread-local memory.
static INITIAL_TLS_END: AtomicU64 = AtomicU64::new(0);

/// The object with `code` is instrumented.
pub(crate) fn add_object(code: u64) {
    if !is_on() {
        return;
    }
    inside::objects::with(code, |object| {
        for Segment { zero, .. } in object.segments().filter(|it| !it.zero.is_empty()) {
            mark(zero.start, zero.end);
            ZEROED.add(zero);
        }
    });
}

/// A thread begins: its thread-local memory that is zero at first is marked.
pub(crate) fn begin_thread(tls_end: u64, is_initial: bool) {
    if !is_on() {
        return;
    }
    if is_initial {
        INITIAL_TLS_END.store(tls_end, Relaxed);
    }
    inside::objects::each(|object| {
        let is_instrumented = objects::is_instrumented(object.bounds().start);
        if let (true, Some(Segment { zero, .. })) = (is_instrumented, object.thread_local()) {
            mark(zero.start, zero.end);
        }
    });
}

/// Blocks of as many bytes are filled only while that leaves the machine half of its memory: a program may
/// ask for more than it uses.
const BIG: u64 = 1 << 20;
static MOST_FILLED: AtomicU64 = AtomicU64::new(0);
static FILLED: AtomicU64 = AtomicU64::new(0);
/// The big blocks that are filled: address and bytes.
static BIG_BLOCKS: [[AtomicU64; 2]; 64] = [const { [AtomicU64::new(0), AtomicU64::new(0)] }; 64];

/// Whether the block at `address` may be filled. One that may not is counted.
fn may_fill(address: u64, bytes: u64) -> bool {
    if bytes < BIG {
        return true;
    }
    let before = FILLED.fetch_add(bytes, Relaxed);
    if before.saturating_add(bytes) <= MOST_FILLED.load(Relaxed) {
        for [place, length] in &BIG_BLOCKS {
            if place.compare_exchange(0, address, Relaxed, Relaxed).is_ok() {
                length.store(bytes, Relaxed);
                return true;
            }
        }
    }
    FILLED.fetch_sub(bytes, Relaxed);
    if let Some(shared) = SHARED.get() {
        shared.count_unmarked(bytes);
    }
    false
}

/// The block at `address` is given back.
pub(crate) fn freed(address: u64) {
    if FILLED.load(Relaxed) == 0 {
        return;
    }
    for [place, length] in &BIG_BLOCKS {
        if place.load(Relaxed) == address {
            FILLED.fetch_sub(length.swap(0, Relaxed), Relaxed);
            place.store(0, Relaxed);
            return;
        }
    }
}

/// The program has a new block of memory, of which the first `kept` bytes have values.
///
/// # Safety
/// It is an allocator's, which has just given it to the program.
pub(crate) unsafe fn allocated(address: u64, kept: u64, bytes: u64) {
    if address != 0 && may_fill(address, bytes) {
        // SAFETY: the caller's promise.
        unsafe { undefine(address + kept.min(bytes), address + bytes) };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Some memory of its own, with marks.
    fn memory() -> u64 {
        static LOCK: std::sync::Once = std::sync::Once::new();
        LOCK.call_once(|| {
            // SAFETY: as in `start`.
            let base = unsafe {
                let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_NORESERVE;
                let access = libc::PROT_READ | libc::PROT_WRITE;
                libc::mmap(std::ptr::null_mut(), MAPPED, access, flags, -1, 0)
            };
            assert_ne!(base, libc::MAP_FAILED);
            MARKS.store(base as usize, Relaxed);
        });
        Box::leak(Box::new([0_u64; 64])).as_ptr() as u64
    }

    fn marks(begin: u64, bytes: u64) -> Vec<u64> {
        (0..bytes).filter(|at| is_marked(begin + at, 1)).collect()
    }

    #[test]
    fn marks_are_those_of_the_bytes() {
        let begin = memory();
        for first in 0..20 {
            for last in first..40 {
                mark(begin + first, begin + last);
                assert_eq!(marks(begin, 48), (first..last).collect::<Vec<_>>());
                for (from, to) in [(first + 1, last), (0, first + 9), (first, 48)] {
                    mark(begin + first, begin + last);
                    written_range(begin + from, to.saturating_sub(from));
                    let left = (first..last).filter(|at| !(from..to).contains(at));
                    assert_eq!(marks(begin, 48), left.collect::<Vec<_>>(), "{from} {to}");
                }
                written_range(begin, 64);
            }
        }
    }

    #[test]
    fn small_writes_clear_their_own_bytes() {
        let begin = memory();
        for at in 0..16 {
            for size in [1, 2, 4, 8, 16] {
                mark(begin, begin + 48);
                assert!(is_marked(begin + at, size));
                written(begin + at, size);
                let left = (0..48).filter(|byte| !(at..at + size).contains(byte));
                assert_eq!(marks(begin, 48), left.collect::<Vec<_>>());
                assert!(!is_marked(begin + at, 1) && !is_marked(begin + at + size - 1, 2));
            }
        }
        written_range(begin, 64);
    }

    #[test]
    fn marks_move_with_the_bytes() {
        let begin = memory();
        for (from, to) in [(0, 64), (64, 0), (3, 67), (0, 8), (8, 0), (5, 13)] {
            written_range(begin, 256);
            mark(begin + from + 2, begin + from + 5);
            mark(begin + from + 11, begin + from + 29);
            let of_source: Vec<u64> = marks(begin + from, 30);
            copied(begin + to, begin + from, 30);
            assert_eq!(marks(begin + to, 30), of_source, "{from} {to}");
        }
        written_range(begin, 256);
        mark(begin, begin + 128);
        copied(begin + 65, begin, 30);
        assert_eq!(
            marks(begin + 64, 40),
            [[0].as_slice(), &(31..40).collect::<Vec<_>>()].concat()
        );
        written_range(begin, 256);
    }

    #[test]
    fn what_others_write_is_no_unwritten_memory() {
        let begin = memory();
        // SAFETY: memory of the test's own.
        unsafe {
            undefine(begin + 3, begin + 45);
            assert_eq!(read(begin + 8, 4, 0, false), Unwritten::Yes);
            assert!(!is_marked(begin + 8, 4), "a read is told of once");
            assert_eq!(read(begin + 16, 16, 0, false), Unwritten::Yes);
            ((begin + 33) as *mut u8).write_volatile(7);
            assert_eq!(read(begin + 32, 8, 0, false), Unwritten::No);
            undefine(begin, begin + 8);
            ((begin + 1) as *mut u8).write_volatile(0);
            assert_eq!(read(begin + 4, 1, 0, false), Unwritten::No);
        }
    }
}
