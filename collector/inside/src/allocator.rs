//! What libraries of ours share that interpose the allocator.
#![allow(unsafe_code)]

use std::ffi::c_void;
use std::ptr::null_mut;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering::Relaxed};

use crate::next::Next;
use crate::stack::thread_register;

/// Memory for calls that come while the next library's functions are looked up: the loader may
/// allocate. It is never given back.
pub static FIRST: First = First {
    bytes: [const { AtomicUsize::new(0) }; FIRST_WORDS],
    used: AtomicUsize::new(0),
};
const FIRST_WORDS: usize = 1 << 13;

#[repr(align(16))]
/// See [`FIRST`].
#[derive(Debug)]
pub struct First {
    bytes: [AtomicUsize; FIRST_WORDS],
    used: AtomicUsize,
}

impl First {
    /// Zeroed memory of `size` bytes, aligned to 16; NULL if there is no more.
    pub fn take(&self, size: usize) -> *mut c_void {
        let words = size.div_ceil(16).saturating_mul(2);
        let at = self.used.fetch_add(words, Relaxed);
        if at.checked_add(words).is_some_and(|end| end <= FIRST_WORDS) {
            self.bytes.as_ptr().wrapping_add(at) as *mut c_void
        } else {
            null_mut()
        }
    }

    /// Whether a block is of it.
    pub fn has(&self, block: *const c_void) -> bool {
        self.bytes.as_ptr_range().contains(&block.cast())
    }

    /// Bytes from a block of it to its end.
    pub fn room(&self, block: *const c_void) -> usize {
        (self.bytes.as_ptr_range().end as usize).saturating_sub(block as usize)
    }
}

/// Looks for `next`, but not while it is already being looked for by this thread.
pub fn address(next: &'static Next) -> Option<usize> {
    static SEEKER: AtomicU64 = AtomicU64::new(0);
    if let Some(found) = next.found() {
        return Some(found);
    }
    let thread = thread_register();
    if SEEKER.load(Relaxed) == thread {
        return None;
    }
    SEEKER.store(thread, Relaxed);
    let found = next.address();
    SEEKER.store(0, Relaxed);
    found
}

/// Defines functions that go on to functions in Rust with the return address behind their arguments, in the
/// register that is named.
#[macro_export]
macro_rules! with_code {
    ($($register:literal $name:ident $to:ident;)*) => {$(
        #[cfg_attr(not(test), unsafe(no_mangle))]
        #[unsafe(naked)]
        #[allow(non_snake_case, reason = "they are the symbols' names")]
        unsafe extern "C" fn $name() {
            std::arch::naked_asm!(concat!("mov ", $register, ", [rsp]"), "jmp {to}", to = sym $to)
        }
    )*};
}
