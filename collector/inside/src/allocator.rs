//! The allocator, as libraries of ours interpose it: each function passes the call on, and tells of the block.
#![allow(unsafe_code)]

use std::ffi::{c_int, c_void};
use std::ptr::null_mut;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering::Relaxed};

use crate::next::Next;
use crate::stack::thread_register;

/// Memory for calls that come while the next library's functions are looked up: the loader may
/// allocate. It is never given back.
static FIRST: First = First {
    bytes: [const { AtomicUsize::new(0) }; FIRST_WORDS],
    used: AtomicUsize::new(0),
};
const FIRST_WORDS: usize = 1 << 13;

#[repr(align(16))]
struct First {
    bytes: [AtomicUsize; FIRST_WORDS],
    used: AtomicUsize,
}

impl First {
    /// Zeroed memory of `size` bytes, aligned to 16; NULL if there is no more.
    fn take(&self, size: usize) -> *mut c_void {
        let words = size.div_ceil(16).saturating_mul(2);
        let at = self.used.fetch_add(words, Relaxed);
        if at.checked_add(words).is_some_and(|end| end <= FIRST_WORDS) {
            self.bytes.as_ptr().wrapping_add(at) as *mut c_void
        } else {
            null_mut()
        }
    }

    /// Whether a block is of it.
    fn has(&self, block: *const c_void) -> bool {
        self.bytes.as_ptr_range().contains(&block.cast())
    }

    /// Bytes from a block of it to its end.
    fn room(&self, block: *const c_void) -> usize {
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

static MALLOC: Next = Next::new(c"malloc");
static CALLOC: Next = Next::new(c"calloc");
static REALLOC: Next = Next::new(c"realloc");
static FREE: Next = Next::new(c"free");
static MEMALIGN: Next = Next::new(c"memalign");
static ALIGNED: Next = Next::new(c"aligned_alloc");
static POSIX: Next = Next::new(c"posix_memalign");

/// Looks up what is called while a thread holds a lock of the loader.
pub fn look_up() {
    for next in [
        &MALLOC, &CALLOC, &REALLOC, &FREE, &MEMALIGN, &ALIGNED, &POSIX,
    ] {
        address(next);
    }
}

/// What a library does with the program's blocks, beside passing the call on. `code` is the return address of the call.
pub trait Blocks {
    /// A block was allocated, whose bytes have no values.
    fn allocated(block: *mut c_void, bytes: usize, code: u64);

    /// A block was allocated, of zeroes.
    fn zeroed(block: *mut c_void, bytes: usize, code: u64);

    /// A block is about to be resized. Returns what [`Blocks::resized`] needs to know of it.
    fn resizing(block: *mut c_void, code: u64) -> u64;

    /// It was resized. It may be another one, or NULL.
    fn resized(blocks: [*mut c_void; 2], known: u64, bytes: usize, code: u64);

    /// A block is about to be given back; it may be NULL.
    fn freed(block: *mut c_void, code: u64);
}

/// Calls the function at an address, of this type.
macro_rules! call {
    ($address:expr, fn($($type:ty),*) -> $result:ty, $($argument:expr),*) => {{
        // SAFETY: the next library's function of that name, with the program's arguments.
        unsafe {
            std::mem::transmute::<usize, unsafe extern "C" fn($($type),*) -> $result>($address)(
                $($argument),*
            )
        }
    }};
}

fn told<B: Blocks>(block: *mut c_void, bytes: usize, code: u64) -> *mut c_void {
    if !block.is_null() {
        B::allocated(block, bytes, code);
    }
    block
}

/// `malloc`.
pub extern "C" fn plain<B: Blocks>(size: usize, code: u64) -> *mut c_void {
    match address(&MALLOC) {
        Some(next) => told::<B>(call!(next, fn(usize) -> *mut c_void, size), size, code),
        None => FIRST.take(size),
    }
}

/// `calloc`.
pub extern "C" fn zeroed<B: Blocks>(count: usize, size: usize, code: u64) -> *mut c_void {
    let Some(next) = address(&CALLOC) else {
        return FIRST.take(count.saturating_mul(size));
    };
    let block = call!(next, fn(usize, usize) -> *mut c_void, count, size);
    if !block.is_null() {
        B::zeroed(block, count.wrapping_mul(size), code);
    }
    block
}

/// `realloc`.
///
/// # Safety
/// The program's call, with its arguments.
pub unsafe extern "C" fn resized<B: Blocks>(
    block: *mut c_void,
    size: usize,
    code: u64,
) -> *mut c_void {
    if FIRST.has(block) {
        let new = plain::<B>(size, code);
        if !new.is_null() {
            let bytes = size.min(FIRST.room(block));
            // SAFETY: both blocks have as many bytes.
            unsafe { std::ptr::copy_nonoverlapping(block.cast::<u8>(), new.cast(), bytes) };
        }
        return new;
    }
    let Some(next) = address(&REALLOC) else {
        return null_mut();
    };
    let known = B::resizing(block, code);
    let new = call!(next, fn(*mut c_void, usize) -> *mut c_void, block, size);
    B::resized([block, new], known, size, code);
    new
}

/// `free`.
///
/// # Safety
/// The program's call, with its arguments.
pub unsafe extern "C" fn given_back<B: Blocks>(block: *mut c_void, code: u64) {
    if FIRST.has(block) {
        return;
    }
    if let Some(next) = address(&FREE) {
        B::freed(block, code);
        call!(next, fn(*mut c_void) -> (), block);
    }
}

/// `aligned_alloc`.
pub extern "C" fn aligned<B: Blocks>(alignment: usize, size: usize, code: u64) -> *mut c_void {
    by::<B>(&ALIGNED, alignment, size, code)
}

/// `memalign`.
pub extern "C" fn page_aligned<B: Blocks>(alignment: usize, size: usize, code: u64) -> *mut c_void {
    by::<B>(&MEMALIGN, alignment, size, code)
}

fn by<B: Blocks>(next: &'static Next, alignment: usize, size: usize, code: u64) -> *mut c_void {
    let Some(next) = address(next) else {
        return null_mut();
    };
    let block = call!(next, fn(usize, usize) -> *mut c_void, alignment, size);
    told::<B>(block, size, code)
}

/// `posix_memalign`.
///
/// # Safety
/// The program's call, with its arguments.
pub unsafe extern "C" fn posix<B: Blocks>(
    to: *mut *mut c_void,
    alignment: usize,
    size: usize,
    code: u64,
) -> c_int {
    let Some(next) = address(&POSIX) else {
        return libc::ENOMEM;
    };
    let result = call!(
        next,
        fn(*mut *mut c_void, usize, usize) -> c_int,
        to,
        alignment,
        size
    );
    if result == 0 {
        // SAFETY: the function has stored the block there.
        told::<B>(unsafe { *to }, size, code);
    }
    result
}

/// Allocates as `malloc` does, so that the block is known by the call of `new`; that of the C++ library says what it
/// has to when there is no memory.
fn new<B: Blocks>(size: usize, code: u64, next: &'static Next) -> *mut c_void {
    if let Some(malloc) = address(&MALLOC) {
        let block = call!(malloc, fn(usize) -> *mut c_void, size);
        if !block.is_null() {
            return told::<B>(block, size, code);
        }
    }
    match address(next) {
        // SAFETY: the next library's function of that name, with the program's argument.
        Some(next) => unsafe {
            std::mem::transmute::<usize, unsafe extern "C-unwind" fn(usize) -> *mut c_void>(next)(
                size,
            )
        },
        None => null_mut(),
    }
}

/// `operator new`.
pub extern "C-unwind" fn new_object<B: Blocks>(size: usize, code: u64) -> *mut c_void {
    static NEXT: Next = Next::new(c"_Znwm");
    new::<B>(size, code, &NEXT)
}

/// `operator new[]`.
pub extern "C-unwind" fn new_array<B: Blocks>(size: usize, code: u64) -> *mut c_void {
    static NEXT: Next = Next::new(c"_Znam");
    new::<B>(size, code, &NEXT)
}

/// Defines the allocator's functions, which tell a type that is [`Blocks`](crate::allocator::Blocks).
#[macro_export]
macro_rules! allocator {
    ($blocks:ty) => {
        $crate::with_code! {
            "rsi" malloc $crate::allocator::plain::<$blocks>;
            "rdx" calloc $crate::allocator::zeroed::<$blocks>;
            "rdx" realloc $crate::allocator::resized::<$blocks>;
            "rsi" free $crate::allocator::given_back::<$blocks>;
            "rdx" aligned_alloc $crate::allocator::aligned::<$blocks>;
            "rdx" memalign $crate::allocator::page_aligned::<$blocks>;
            "rcx" posix_memalign $crate::allocator::posix::<$blocks>;
            "rsi" _Znwm $crate::allocator::new_object::<$blocks>;
            "rsi" _Znam $crate::allocator::new_array::<$blocks>;
        }
    };
}

/// Used by [`allocator!`](crate::allocator). Defines functions that go on to functions in Rust with the return address behind their arguments, in the
/// register that is named.
#[macro_export]
macro_rules! with_code {
    ($($register:literal $name:ident $to:path;)*) => {$(
        #[cfg_attr(not(test), unsafe(no_mangle))]
        #[unsafe(naked)]
        #[allow(non_snake_case, reason = "they are the symbols' names")]
        unsafe extern "C" fn $name() {
            std::arch::naked_asm!(concat!("mov ", $register, ", [rsp]"), "jmp {to}", to = sym $to)
        }
    )*};
}
