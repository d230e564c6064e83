//! The functions that ours hide: those of the next library that has them.
#![allow(unsafe_code)]

use std::ffi::CStr;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

/// A function of another library, looked up at its first use.
pub(crate) struct Next {
    name: &'static CStr,
    address: AtomicUsize,
}

/// The address of a function that no library has.
const NONE: usize = 1;

impl Next {
    pub(crate) const fn new(name: &'static CStr) -> Next {
        Next {
            name,
            address: AtomicUsize::new(0),
        }
    }

    /// Its address; `None` if no library has it.
    #[inline]
    pub(crate) fn address(&self) -> Option<usize> {
        match self.address.load(Relaxed) {
            0 => self.find(),
            NONE => None,
            address => Some(address),
        }
    }

    /// Its address if it was found before.
    #[inline]
    pub(crate) fn found(&self) -> Option<usize> {
        Some(self.address.load(Relaxed)).filter(|address| *address > NONE)
    }

    #[cold]
    fn find(&self) -> Option<usize> {
        // SAFETY: a C string; the search leaves nothing behind.
        let address = unsafe { libc::dlsym(libc::RTLD_NEXT, self.name.as_ptr()) } as usize;
        let found = (address != 0).then_some(address);
        self.address.store(found.unwrap_or(NONE), Relaxed);
        found
    }
}

/// The next library's function of this name, as a function pointer of this type.
///
/// Calls it with the arguments, or returns `$else` if no library has it.
macro_rules! next {
    ($name:literal, fn($($type:ty),*) $(-> $result:ty)?, ($($argument:expr),*), $else:expr) => {{
        static NEXT: $crate::next::Next = $crate::next::Next::new($name);
        match NEXT.address() {
            // SAFETY: the function of this name has this type.
            Some(address) => unsafe {
                let function = std::mem::transmute::<
                    usize,
                    unsafe extern "C-unwind" fn($($type),*) $(-> $result)?,
                >(address);
                function($($argument),*)
            },
            None => $else,
        }
    }};
}
pub(crate) use next;
