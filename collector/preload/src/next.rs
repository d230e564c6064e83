//! Functions of the libraries behind ours.
#![allow(unsafe_code)]

use std::ffi::CStr;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

/// A function of the next library.
pub(crate) struct Next {
    name: &'static CStr,
    /// The version that programs of today are linked to, where there are several.
    version: Option<&'static CStr>,
    address: AtomicUsize,
}

impl Next {
    pub(crate) const fn new(name: &'static CStr) -> Next {
        Next {
            name,
            version: None,
            address: AtomicUsize::new(0),
        }
    }

    pub(crate) const fn of_version(name: &'static CStr, version: &'static CStr) -> Next {
        Next {
            version: Some(version),
            ..Next::new(name)
        }
    }

    /// Its address, looked up as the library is loaded.
    pub(crate) fn address(&self) -> usize {
        match self.address.load(Relaxed) {
            0 => self.find(),
            address => address,
        }
    }

    #[cold]
    fn find(&self) -> usize {
        // SAFETY: C strings; the searches leave nothing behind.
        let found = unsafe {
            let versioned = self.version.map_or(std::ptr::null_mut(), |version| {
                libc::dlvsym(libc::RTLD_NEXT, self.name.as_ptr(), version.as_ptr())
            });
            if versioned.is_null() {
                libc::dlsym(libc::RTLD_NEXT, self.name.as_ptr())
            } else {
                versioned
            }
        } as usize;
        self.address.store(found, Relaxed);
        found
    }
}
