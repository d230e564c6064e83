//! A thread's memory: mapped, never from the program's allocator, which the program under test
//! may have replaced, and which may be the very thing that it is measured for.
#![allow(unsafe_code)]

/// Types for which all-zero bytes are a value.
///
/// # Safety
/// Zero bytes must be valid for every field, `MaybeUninit` ones included.
pub(crate) unsafe trait Zeroed {}

/// A zeroed value of its own mapping; pages cost memory once touched. `None` where the kernel
/// gives none.
pub(crate) fn map<T: Zeroed>() -> Option<*mut T> {
    const { assert!(align_of::<T>() <= 4096, "mappings are page aligned") };
    // SAFETY: a fresh anonymous mapping touches no other memory.
    let base = unsafe {
        libc::mmap(
            std::ptr::null_mut(),
            size_of::<T>(),
            libc::PROT_READ | libc::PROT_WRITE,
            libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_NORESERVE,
            -1,
            0,
        )
    };
    (base != libc::MAP_FAILED).then_some(base.cast())
}

/// Gives the mapping back.
///
/// # Safety
/// `value` came from [`map`], and nothing refers to it any more.
pub(crate) unsafe fn unmap<T: Zeroed>(value: *mut T) {
    // SAFETY: the caller's promise; the size is that of the mapping.
    unsafe { libc::munmap(value.cast(), size_of::<T>()) };
}
