//! Reads the calling thread's own stack, within bounds that are known to be mapped.
//!
//! It uses no unwind information. Where that is wrong, as in some hand-written assembly, an unwinder
//! reads from any address, and the program may die. This module finds the words that an unwinder in
//! another process can need.
#![allow(unsafe_code)]

use std::ops::Range;

use omp_ring::context::{Registers, Word};

use crate::filters;

const PAGE: u64 = 4096;

/// A return address, or another stack word that points into code.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(C)]
pub struct Frame {
    /// The address of the word.
    pub(crate) slot: u64,
    /// The word.
    pub(crate) ip: u64,
}

/// How many words [`is_same`] compares at a time.
pub(crate) const GROUP: usize = 4;

/// Whether each word still has its value, at its distance above `base` on the stack `own`. Their
/// number is a multiple of [`GROUP`]; they ascend, but for repetitions of the first one at the end.
/// If `base` is a multiple of 8, they must have been read before from these addresses of the stack
/// `own`; otherwise they are not compared.
///
/// A processor that has just waited in a loop, as at a fork, does not predict the number of words. So
/// there is one branch for each group: with one for each word, the misprediction at the last one
/// would cost as much as all the rest.
#[inline]
pub(crate) fn is_same(words: &[Word], base: u64, own: &OwnStack) -> bool {
    let here = 0u8;
    let here = (&raw const here) as u64;
    let is_live = |first: &Word| base.wrapping_add(first.bytes) > here;
    let is_own = base.is_multiple_of(8) && own.known.contains(&here) && own.known.contains(&base);
    if !is_own || !words.first().is_some_and(is_live) {
        return false;
    }
    let differs = |word: &Word| {
        let (slot, value) = (base.wrapping_add(word.bytes), word.value);
        // SAFETY: the word was read from this address before, when it lay on this stack: the same
        // `base` and distance give the same address. The stack's upper end does not move, so the
        // address is still below it. It is above the live end: the first word is above `here`, and
        // no other word is below the first one. All of the stack between the two ends is mapped and
        // readable (`OwnStack`).
        unsafe { (slot as *const u64).read_volatile() ^ value }
    };
    let (groups, rest) = words.as_chunks::<GROUP>();
    rest.is_empty()
        && groups
            .iter()
            .all(|[a, b, c, d]| differs(a) | differs(b) | differs(c) | differs(d) == 0)
}

/// The stack that a thread was started with, as far as it is known. Valid when zeroed: nothing is
/// known.
#[derive(Clone, Debug)]
#[repr(C)]
pub struct OwnStack {
    /// From an address up to the stack's upper end. The part that is in use can be read at any time:
    /// it is mapped, and the upper end does not move.
    known: Range<u64>,
}

impl OwnStack {
    /// The calling thread's.
    pub fn of_thread(is_initial: bool) -> OwnStack {
        /// The kernel maps nothing else within this distance below the initial thread's stack
        /// (`mmap_base`), and extends the stack when it is written to.
        const GAP: u64 = 128 << 20;
        /// `PTHREAD_STACK_MIN` without the control block: no thread has a smaller stack.
        const LEAST: u64 = 12 << 10;
        // The thread register points to the control block, which the C library puts at the upper
        // end of a thread's stack. The initial thread's control block is elsewhere; the kernel
        // tells the end of that stack.
        let (top, size) = if is_initial {
            (initial_top(), GAP)
        } else {
            (thread_register(), LEAST)
        };
        OwnStack {
            known: top.saturating_sub(size)..top,
        }
    }

    /// The upper end of the stack if `here` lies on it. `None` on another stack, such as a
    /// coroutine's, whose end is unknown.
    fn end_above(&mut self, here: u64) -> Option<u64> {
        /// A greater depth counts as another stack: each page costs a system call, once.
        const DEEPEST: u64 = 64 << 20;
        if here >= self.known.end || self.known.end - here > DEEPEST.max(self.known_bytes()) {
            return None;
        }
        // A guard page, which cannot be read, lies below each stack.
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

/// Whether the 8 bytes at `address` can be read. Asks the kernel by a system call that every sandbox
/// permits: `rt_sigprocmask` copies a signal set from there before it rejects an unknown operation
/// (kernel/signal.c).
fn is_readable(address: u64) -> bool {
    const UNKNOWN_OPERATION: libc::c_long = !0;
    const SET_BYTES: libc::c_long = 8;
    // SAFETY: the kernel checks the address before it reads from it, and writes nothing, since the
    // operation is unknown and the pointer for the result is NULL. `errno` is this thread's own.
    let result = unsafe {
        let saved = *libc::__errno_location();
        let no_result = std::ptr::null::<u64>();
        let number = libc::SYS_rt_sigprocmask;
        libc::syscall(number, UNKNOWN_OPERATION, address, no_result, SET_BYTES);
        std::mem::replace(&mut *libc::__errno_location(), saved)
    };
    result != libc::EFAULT
}

/// Most bytes examined of a stack whose end is unknown.
const OTHER_BYTES: usize = 64 << 10;

/// Room for the copy of a part of such a stack. Valid when zeroed.
pub type Copied = [u64; OTHER_BYTES / 8];

/// A part of the calling thread's stack.
pub enum Part<'a> {
    /// Of the stack that it was started with, which can be read in place.
    Own(Range<u64>),
    /// Of another stack, copied: the address of the first word, and the words.
    Other(u64, &'a [u64]),
}

impl<'a> Part<'a> {
    /// The part from `sp` up to `end`, or to the stack's end if `end` is 0; at most `most` bytes.
    pub fn of(
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
    pub fn range(&self) -> Range<u64> {
        match self {
            Part::Own(range) => range.clone(),
            Part::Other(start, words) => *start..*start + 8 * words.len() as u64,
        }
    }

    /// Calls `f` with the address and value of each word, from the stack pointer up, until it returns
    /// false.
    #[inline]
    pub fn each(&self, mut f: impl FnMut(u64, u64) -> bool) {
        match self {
            Part::Own(range) => {
                let mut at = range.start;
                // SAFETY: `OwnStack::end_above` has found that the stack can be read from the page of
                // the stack pointer up to its end, between which the range lies. The frames there
                // are those of this call's callers, so that part stays in use meanwhile.
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

/// Copies the words from `address` on to `words`, up to the first page that cannot be read. Returns
/// those copied.
///
/// The kernel copies them, since another thread may unmap the memory beyond this stack's end at any
/// time.
fn copy_of(address: u64, words: &mut [u64]) -> &[u64] {
    /// One more than the number of pages: the first piece may be a part of a page.
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
    // SAFETY: `local` describes `words`, which is borrowed exclusively.
    let count = match unsafe { read(&local, &remote) } / 8 {
        count @ 1.. => count,
        // The kernel refuses to copy, as in a sandbox. The rest of the page that holds the stack
        // pointer can be read all the same.
        0 => {
            let count = to_page_end.min(bytes) / 8;
            for (at, word) in words.iter_mut().take(count).enumerate() {
                // SAFETY: `address` is the stack pointer, so its page is in use and mapped as a whole.
                // The word ends before the end of that page.
                *word = unsafe { (address as *const u64).add(at).read_volatile() };
            }
            count
        }
    };
    words.get(..count).unwrap_or_default()
}

/// Copies memory of this process by the kernel, which refuses unmapped addresses. Copies the pieces
/// one after the other, up to the first that cannot be read. Returns the number of bytes.
///
/// # Safety
/// `local` must describe writable memory that nothing else uses.
unsafe fn read(local: &libc::iovec, pieces: &[libc::iovec]) -> usize {
    if filters::are_set() {
        return 0;
    }
    // SAFETY: the kernel writes only to `local`, which the caller vouches for, and checks the addresses
    // that it reads from. `errno` is this thread's own.
    let read = unsafe {
        let saved = *libc::__errno_location();
        let count = pieces.len() as libc::c_ulong;
        let read = libc::process_vm_readv(libc::getpid(), local, 1, pieces.as_ptr(), count, 0);
        *libc::__errno_location() = saved;
        read
    };
    usize::try_from(read).unwrap_or(0)
}

/// The bytes before an address of this process, which need not be mapped; `None` if they cannot be read.
pub(crate) fn bytes_before<const N: usize>(address: u64) -> Option<[u8; N]> {
    let mut bytes = [0; N];
    let local = libc::iovec {
        iov_base: bytes.as_mut_ptr().cast(),
        iov_len: N,
    };
    let remote = libc::iovec {
        iov_base: address.wrapping_sub(N as u64) as *mut libc::c_void,
        iov_len: N,
    };
    // SAFETY: `local` describes `bytes`, which nothing else uses.
    let read = unsafe { read(&local, &[remote]) };
    (read == N).then_some(bytes)
}

/// The registers of the function into which this is inlined. The stack can be unwound from them until
/// that function returns.
#[cfg(target_arch = "x86_64")]
#[inline(always)]
pub(crate) fn registers() -> Registers {
    let (ip, sp, bp);
    // SAFETY: the instructions only read registers into the three outputs.
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

/// The thread register: the address of the block from which thread-local variables are counted.
#[cfg(target_arch = "x86_64")]
#[inline(always)]
#[must_use]
pub fn thread_register() -> u64 {
    let value: u64;
    // SAFETY: fs points to the thread's control block, whose first word is a pointer to itself (ELF
    // Handling For Thread-Local Storage, x86-64).
    unsafe {
        core::arch::asm!(
            "mov {value}, qword ptr fs:[0]",
            value = out(reg) value,
            options(nostack, readonly, preserves_flags),
        );
    }
    value
}

/// Not known.
#[cfg(not(target_arch = "x86_64"))]
#[must_use]
pub fn thread_register() -> u64 {
    0
}

/// The upper end of the frames on the initial thread's stack: the kernel puts random bytes there, and
/// the strings of arguments and environment above them (fs/binfmt_elf.c).
#[must_use]
pub fn initial_top() -> u64 {
    // SAFETY: the call takes a number, returns a number and touches no memory of ours.
    unsafe { libc::getauxval(libc::AT_RANDOM) / 8 * 8 }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_that_cannot_be_read_is_found_by_the_kernel() {
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
    fn words_are_compared_in_place_on_the_own_stack_alone() {
        #[inline(never)]
        fn are_same(words: &[Word], base: u64, own: &OwnStack) -> bool {
            is_same(words, base, own)
        }
        let thread = std::thread::spawn(|| {
            let mut own = OwnStack::of_thread(false);
            // Of zeros, which are the same at an odd address, too.
            let mut room = [0u64; GROUP + 1];
            let base = room.as_ptr() as u64;
            let words = [0, 1, 2, 3].map(|at| Word {
                bytes: 8 * at,
                value: 0,
            });
            assert!(own.end_above((&raw const own) as u64).is_some());
            let unchanged = are_same(&words, base, &own);
            // The mark of words that lay on another stack.
            let odd = are_same(&words, base | 1, &own);
            let elsewhere = are_same(&words, words.as_ptr() as u64, &own);
            std::hint::black_box(&mut room)[3] += 1;
            (unchanged, odd, elsewhere, are_same(&words, base, &own))
        });
        assert_eq!(thread.join().expect("it ends"), (true, false, false, false));
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
