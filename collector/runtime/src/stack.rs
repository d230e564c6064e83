//! Reading the calling thread's own stack, within bounds that are known to be mapped.
//!
//! No unwind information is used: where it is wrong, as in some hand-written assembly, an unwinder
//! that believes it reads anywhere, and the program dies. What is found here are the words that an
//! unwinder elsewhere can need.
#![allow(unsafe_code)]

use std::ops::Range;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use omp_ring::context::{Registers, Word};

const PAGE: u64 = 4096;

/// A return address, or another word that points into code, and where on the stack it lies.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(C)]
pub(crate) struct Frame {
    /// The place of the word.
    pub(crate) slot: u64,
    /// The word.
    pub(crate) ip: u64,
}

/// How many words [`is_same`] compares at a time.
pub(crate) const GROUP: usize = 4;

/// Whether the words are where they were: so far above `base` each, on the stack that `own` is of.
/// There are a multiple of [`GROUP`], ascending but for repetitions of the first one at the end.
///
/// How many words there are is not foreseen by a processor that has just waited in a loop, as it
/// has where a region is forked: one branch a word and a wrong guess at the last one would cost
/// as much as all the rest.
#[inline]
pub(crate) fn is_same(words: &[Word], base: u64, own: &OwnStack) -> bool {
    let here = 0u8;
    let here = (&raw const here) as u64;
    let is_live = |first: &Word| first.unpack(base).0 > here;
    let is_own = own.known.contains(&here) && own.known.contains(&base);
    if !is_own || !words.first().is_some_and(is_live) {
        return false;
    }
    let differs = |word: &Word| {
        let (slot, value) = word.unpack(base);
        // SAFETY: the places lie on this thread's stack between its live end and its upper end, all
        // of which can be read.
        unsafe { (slot as *const u64).read_volatile() ^ value }
    };
    let (groups, rest) = words.as_chunks::<GROUP>();
    rest.is_empty()
        && groups
            .iter()
            .all(|[a, b, c, d]| differs(a) | differs(b) | differs(c) | differs(d) == 0)
}

/// What is known of the stack that a thread was started with. Valid when zeroed: nothing.
#[derive(Clone, Debug)]
#[repr(C)]
pub(crate) struct OwnStack {
    /// All of it from `start` up to the stack's upper end can be read, at any time: what is in use
    /// there is mapped, and neither end moves.
    known: Range<u64>,
}

impl OwnStack {
    /// The calling thread's.
    pub(crate) fn of_thread(is_initial: bool) -> OwnStack {
        /// The kernel maps nothing else that near below the initial thread's stack (`mmap_base`),
        /// and extends it when it is written to.
        const GAP: u64 = 128 << 20;
        /// `PTHREAD_STACK_MIN` less the control block: no stack that a thread is given is smaller.
        const LEAST: u64 = 12 << 10;
        // The C library puts the thread's control block, to which the thread register points, at the
        // upper end of a thread's stack. That of the initial thread is elsewhere, and anything may
        // lie below it: its stack has the loader's mark instead.
        let (top, size) = if is_initial {
            (INITIAL_TOP.load(Relaxed), GAP)
        } else {
            (thread_register(), LEAST)
        };
        OwnStack {
            known: top.saturating_sub(size)..top,
        }
    }

    /// The upper end of the stack if `here` lies on it. Stacks of the program's own making
    /// (coroutines) are others: of them nobody says where they end.
    fn end_above(&mut self, here: u64) -> Option<u64> {
        /// Deeper stacks are taken for others: each page is a system call, once.
        const DEEPEST: u64 = 64 << 20;
        if here >= self.known.end || self.known.end - here > DEEPEST.max(self.known_bytes()) {
            return None;
        }
        // Below a stack lies a guard page, which cannot be read.
        let mut page = self.known.start / PAGE * PAGE;
        while page > here {
            page -= PAGE;
            if !is_readable(page) {
                return None;
            }
        }
        self.known.start = self.known.start.min(page);
        Some(self.known.end)
    }

    fn known_bytes(&self) -> u64 {
        self.known.end - self.known.start
    }
}

/// Whether the 8 bytes at `address` can be read: asked of the kernel, by a call that every sandbox
/// permits. It copies the set of signals from there before it finds that it is to do nothing of what
/// it knows (`rt_sigprocmask`, kernel/signal.c).
fn is_readable(address: u64) -> bool {
    const NOTHING: libc::c_long = !0;
    const SET_BYTES: libc::c_long = 8;
    // SAFETY: the kernel reads from the address or refuses; it writes nowhere.
    let result = unsafe {
        let saved = *libc::__errno_location();
        let nowhere = std::ptr::null::<u64>();
        let number = libc::SYS_rt_sigprocmask;
        libc::syscall(number, NOTHING, address, nowhere, SET_BYTES);
        std::mem::replace(&mut *libc::__errno_location(), saved)
    };
    result != libc::EFAULT
}

/// Bytes that are looked at of a stack whose end is not known.
const OTHER_BYTES: usize = 64 << 10;

/// A copy of a part of such a stack. Valid when zeroed.
pub(crate) type Copied = [u64; OTHER_BYTES / 8];

/// A part of the calling thread's stack.
pub(crate) enum Part<'a> {
    /// Of its own one: it can be read in place.
    Own(Range<u64>),
    /// Of another, copied: the address of the first word, and the words.
    Other(u64, &'a [u64]),
}

impl<'a> Part<'a> {
    /// From `sp` up to `end`, if it is not 0, or to the stack's end; no more than `most` bytes.
    pub(crate) fn of(
        own: &mut OwnStack,
        copied: &'a mut Copied,
        (sp, end): (u64, u64),
        most: u64,
    ) -> Part<'a> {
        let end = match end {
            end if end > sp => end,
            _ => u64::MAX,
        };
        let within = |stack_end: u64| stack_end.min(end).min(sp.saturating_add(most));
        match own.end_above(sp) {
            Some(stack_end) => Part::Own(sp..within(stack_end) / 8 * 8),
            None => {
                let bytes = (within(u64::MAX) - sp).min(OTHER_BYTES as u64);
                let words = copied.get_mut(..bytes as usize / 8).unwrap_or_default();
                Part::Other(sp, copy_of(sp, words))
            }
        }
    }

    /// Its addresses.
    pub(crate) fn range(&self) -> Range<u64> {
        match self {
            Part::Own(range) => range.clone(),
            Part::Other(start, words) => *start..*start + 8 * words.len() as u64,
        }
    }

    /// Calls `f` with each word and its address, from the stack pointer up, until it says false.
    #[inline]
    pub(crate) fn each(&self, mut f: impl FnMut(u64, u64) -> bool) {
        match self {
            Part::Own(range) => {
                let mut at = range.start;
                // SAFETY: `OwnStack` knows that all of it can be read.
                while at < range.end && f(at, unsafe { (at as *const u64).read_volatile() }) {
                    at += 8;
                }
            }
            Part::Other(start, words) => {
                let mut at = *start;
                for word in *words {
                    if !f(at, *word) {
                        return;
                    }
                    at += 8;
                }
            }
        }
    }
}

/// Copies what can be read from `address` on into `words`, as many as there are in one piece.
///
/// By the kernel, since another thread may unmap what lies beyond this stack's end at any time.
fn copy_of(address: u64, words: &mut [u64]) -> &[u64] {
    /// The first page may be a part of one.
    const PIECES: usize = OTHER_BYTES / PAGE as usize + 1;
    let bytes = 8 * words.len();
    let to_page_end = (PAGE - address % PAGE) as usize;
    let local = libc::iovec {
        iov_base: words.as_mut_ptr().cast(),
        iov_len: bytes,
    };
    // The kernel copies a piece as a whole or not at all.
    let mut remote = [libc::iovec {
        iov_base: std::ptr::null_mut(),
        iov_len: 0,
    }; PIECES];
    let (mut at, mut left, mut size) = (address, bytes, to_page_end);
    for piece in &mut remote {
        piece.iov_base = at as *mut libc::c_void;
        piece.iov_len = size.min(left);
        at += piece.iov_len as u64;
        left -= piece.iov_len;
        size = PAGE as usize;
    }
    // SAFETY: `local` is `words`.
    let count = match unsafe { read(&local, &remote) } / 8 {
        count @ 1.. => count,
        // Forbidden: what is left of the page that the stack pointer is in is in use.
        0 => {
            let count = to_page_end.min(bytes) / 8;
            for (at, word) in words.iter_mut().take(count).enumerate() {
                // SAFETY: a page is mapped as a whole, and the stack pointer is in this one.
                *word = unsafe { (address as *const u64).add(at).read_volatile() };
            }
            count
        }
    };
    words.get(..count).unwrap_or_default()
}

/// Reads memory of this process by the kernel, which refuses what is not mapped: as many bytes of the
/// pieces, one after the other, as can be read before the first piece that cannot.
///
/// # Safety
/// `local` must be memory that nothing else uses.
unsafe fn read(local: &libc::iovec, pieces: &[libc::iovec]) -> usize {
    // SAFETY: the kernel writes to `local` alone; what it reads it checks.
    let read = unsafe {
        let saved = *libc::__errno_location();
        let count = pieces.len() as libc::c_ulong;
        let read = libc::process_vm_readv(libc::getpid(), local, 1, pieces.as_ptr(), count, 0);
        *libc::__errno_location() = saved;
        read
    };
    usize::try_from(read).unwrap_or(0)
}

/// The registers of the function that this is inlined into, from which it can be unwound as long as
/// it has not returned.
#[cfg(target_arch = "x86_64")]
#[inline(always)]
pub(crate) fn registers() -> Registers {
    let (ip, sp, bp);
    // SAFETY: reads three registers.
    unsafe {
        core::arch::asm!(
            "lea {ip}, [rip]",
            "mov {sp}, rsp",
            "mov {bp}, rbp",
            ip = out(reg) ip,
            sp = out(reg) sp,
            bp = out(reg) bp,
            options(nostack, nomem, preserves_flags),
        );
    }
    Registers { ip, sp, bp }
}

#[cfg(not(target_arch = "x86_64"))]
pub(crate) fn registers() -> Registers {
    Registers::default()
}

#[cfg(target_arch = "x86_64")]
fn thread_register() -> u64 {
    let value: u64;
    // SAFETY: the x86-64 ABI keeps a pointer to the control block in its first word.
    unsafe {
        core::arch::asm!(
            "mov {value}, qword ptr fs:[0]",
            value = out(reg) value,
            options(nostack, readonly, preserves_flags),
        );
    }
    value
}

#[cfg(not(target_arch = "x86_64"))]
fn thread_register() -> u64 {
    0
}

/// The upper end of the initial thread's stack; 0 where the loader does not tell.
static INITIAL_TOP: AtomicU64 = AtomicU64::new(0);

/// Finds the initial thread's stack. Called before the first callback.
pub(crate) fn prepare() {
    // SAFETY: looks for a variable of glibc's loader by its name.
    let end = unsafe { libc::dlsym(libc::RTLD_DEFAULT, c"__libc_stack_end".as_ptr()) };
    if !end.is_null() {
        // SAFETY: the variable is a pointer, constant since the process started.
        INITIAL_TOP.store(unsafe { *end.cast::<u64>() }, Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_kernel_says_what_can_be_read() {
        let here = 0u64;
        assert!(is_readable((&raw const here) as u64));
        assert!(!is_readable(8));
        // SAFETY: fresh memory that nothing else uses.
        unsafe {
            let page = libc::mmap(
                std::ptr::null_mut(),
                PAGE as usize,
                libc::PROT_NONE,
                libc::MAP_PRIVATE | libc::MAP_ANONYMOUS,
                -1,
                0,
            );
            assert!(!is_readable(page as u64));
            libc::munmap(page, PAGE as usize);
        }
    }

    #[test]
    fn a_stack_is_copied_up_to_what_cannot_be_read() {
        let pages = 3 * PAGE as usize;
        // SAFETY: fresh memory that nothing else uses, written within its bounds.
        unsafe {
            let memory = libc::mmap(
                std::ptr::null_mut(),
                pages,
                libc::PROT_READ | libc::PROT_WRITE,
                libc::MAP_PRIVATE | libc::MAP_ANONYMOUS,
                -1,
                0,
            );
            let words = std::slice::from_raw_parts_mut(memory.cast::<u64>(), pages / 8);
            words.iter_mut().zip(1..).for_each(|(word, n)| *word = n);
            let beyond = memory.byte_add(2 * PAGE as usize);
            libc::mprotect(beyond, PAGE as usize, libc::PROT_NONE);
            let mut copy = vec![0; OTHER_BYTES / 8];
            let start = memory as u64 + 800;
            let found = copy_of(start, &mut copy);
            assert!(
                found.iter().copied().eq(101..=1024),
                "{} words",
                found.len()
            );
            libc::munmap(memory, pages);
        }
    }

    #[test]
    fn a_thread_s_own_stack_is_known_to_its_end() {
        #[inline(never)]
        fn deep(depth: u32, own: &mut OwnStack) -> bool {
            let room = [depth as u64; 512];
            let here = room.as_ptr() as u64;
            let is_own = own.end_above(here).is_some() && own.known.contains(&here);
            let deeper = depth == 0 || deep(depth - 1, own);
            std::hint::black_box(&room);
            is_own && deeper
        }
        let thread = std::thread::spawn(|| {
            let mut own = OwnStack::of_thread(false);
            let elsewhere = Box::new(0u64);
            let on_heap = own.end_above(&raw const *elsewhere as u64);
            (deep(100, &mut own), on_heap)
        });
        assert_eq!(thread.join().expect("it ends"), (true, None));
    }
}
