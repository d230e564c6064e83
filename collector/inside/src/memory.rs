//! Memory for thread states. It is mapped and does not come from the program's allocator, which the
//! program may have replaced, and whose cost may be what is measured.
#![allow(unsafe_code)]

/// Types for which all-zero bytes are a value.
///
/// # Safety
/// All-zero bytes must be a valid value of every field.
pub unsafe trait Zeroed {}

// SAFETY: any bytes are a value.
unsafe impl<T> Zeroed for std::mem::MaybeUninit<T> {}

/// A zeroed value in a mapping of its own, whose pages cost memory once touched. `None` if the
/// kernel refuses.
#[must_use]
pub fn map<T: Zeroed>() -> Option<*mut T> {
    const { assert!(align_of::<T>() <= 4096, "mappings are page aligned") };
    map_bytes(size_of::<T>()).map(<*mut u8>::cast)
}

/// So many zeroed bytes in a mapping of their own. `None` if the kernel refuses.
#[must_use]
pub fn map_bytes(bytes: usize) -> Option<*mut u8> {
    // SAFETY: the kernel chooses an unused address, so no memory in use changes.
    let base = unsafe {
        libc::mmap(
            std::ptr::null_mut(),
            bytes,
            libc::PROT_READ | libc::PROT_WRITE,
            libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_NORESERVE,
            -1,
            0,
        )
    };
    (base != libc::MAP_FAILED).then_some(base.cast())
}

/// Unmaps them.
///
/// # Safety
/// They came from [`map_bytes`], as many, and nothing refers to them any more.
pub unsafe fn unmap_bytes(base: *mut u8, bytes: usize) {
    // SAFETY: the caller's promise.
    unsafe { libc::munmap(base.cast(), bytes) };
}

/// As [`map`], for a value that is not unmapped while anything refers to it.
#[must_use]
pub fn map_static<T: Zeroed + 'static>() -> Option<&'static mut T> {
    // SAFETY: a new mapping, to which nothing else refers; zero bytes are a valid `T`.
    map().map(|value| unsafe { &mut *value })
}

/// Unmaps the value.
///
/// # Safety
/// `value` came from [`map`], and nothing refers to it any more.
pub unsafe fn unmap<T: Zeroed>(value: *mut T) {
    // SAFETY: `map` mapped this many bytes at this address, and by the caller's promise nothing
    // refers to them.
    unsafe { unmap_bytes(value.cast(), size_of::<T>()) };
}
