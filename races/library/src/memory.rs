//! Memory for thread states, mapped: the program's allocator is not ours to use.
#![allow(unsafe_code)]

/// Types for which all-zero bytes are a value.
///
/// # Safety
/// All-zero bytes must be a valid value of every field.
pub(crate) unsafe trait Zeroed {}

/// A zeroed value in a mapping of its own, whose pages cost memory once touched. `None` if the
/// kernel refuses.
pub(crate) fn map<T: Zeroed>() -> Option<&'static mut T> {
    const { assert!(align_of::<T>() <= 4096, "mappings are page aligned") };
    // SAFETY: the kernel chooses an unused address, so no memory in use changes; zero bytes are a
    // valid `T`, to which nothing else refers.
    unsafe {
        let base = libc::mmap(
            std::ptr::null_mut(),
            size_of::<T>(),
            libc::PROT_READ | libc::PROT_WRITE,
            libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_NORESERVE,
            -1,
            0,
        );
        if base == libc::MAP_FAILED {
            None
        } else {
            Some(&mut *base.cast::<T>())
        }
    }
}

/// Unmaps a value that came from [`map`].
///
/// # Safety
/// Nothing refers to it any more.
pub(crate) unsafe fn unmap<T: Zeroed>(value: *mut T) {
    // SAFETY: `map` mapped this many bytes at this address; the caller's promise.
    unsafe { libc::munmap(value.cast(), size_of::<T>()) };
}
