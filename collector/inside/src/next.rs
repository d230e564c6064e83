//! The functions that ours hide: those of the next library that has them.
#![allow(unsafe_code)]

use std::ffi::CStr;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

use crate::loader::Scope;
use crate::symbols;

/// A function of another library, looked up at its first use, or before.
#[derive(Debug)]
pub struct Next {
    name: &'static CStr,
    /// The version that programs of today are linked to, where there are several.
    version: Option<&'static CStr>,
    address: AtomicUsize,
    /// Objects that only some others see have it, too, as extensions of Python open their libraries.
    is_anywhere: bool,
}

/// The address of a function that no library has.
const NONE: usize = 1;

impl Next {
    /// The function of this name. Of several versions, the loader's.
    #[must_use]
    pub const fn new(name: &'static CStr) -> Next {
        Next {
            name,
            version: None,
            address: AtomicUsize::new(0),
            is_anywhere: false,
        }
    }

    /// The function of this name, in any object that is loaded.
    #[must_use]
    pub const fn anywhere(name: &'static CStr) -> Next {
        Next {
            is_anywhere: true,
            ..Next::new(name)
        }
    }

    /// The function of this name and version.
    #[must_use]
    pub const fn of_version(name: &'static CStr, version: &'static CStr) -> Next {
        Next {
            version: Some(version),
            ..Next::new(name)
        }
    }

    /// Its address; `None` if no library has it.
    #[inline]
    pub fn address(&self) -> Option<usize> {
        match self.address.load(Relaxed) {
            0 => self.find(),
            NONE => None,
            address => Some(address),
        }
    }

    /// Its address if it was found before.
    #[inline]
    pub fn found(&self) -> Option<usize> {
        Some(self.address.load(Relaxed)).filter(|address| *address > NONE)
    }

    /// Its address, or that of a function that does nothing and returns 0.
    pub fn or_nothing(&self) -> usize {
        extern "C" fn nothing() -> usize {
            0
        }
        self.address().unwrap_or(nothing as *const () as usize)
    }

    #[cold]
    fn find(&self) -> Option<usize> {
        let found = if self.is_anywhere {
            anywhere(self.name)
        } else {
            behind(self.name, self.version)
        };
        self.address.store(found.unwrap_or(NONE), Relaxed);
        found
    }
}

fn behind(name: &CStr, version: Option<&CStr>) -> Option<usize> {
    let address = Scope::next().find(name, version);
    (address != 0).then_some(address)
}

/// The function of this name that is next or, if only some objects see it, in any object that is loaded.
pub fn anywhere(name: &CStr) -> Option<usize> {
    let elsewhere = || symbols::address_of(name).map(|address| address as usize);
    behind(name, None).or_else(elsewhere)
}

/// Calls the next library's function of this name and type with the arguments, or yields `$else` if no
/// library has it. The function is named by a string, or is a [`Next`](crate::next::Next).
#[macro_export]
macro_rules! next {
    ($name:literal, $($rest:tt)*) => {{
        static NEXT: $crate::next::Next = $crate::next::Next::new($name);
        $crate::next!(NEXT, $($rest)*)
    }};
    ($next:expr, fn($($type:ty),*) $(-> $result:ty)?, ($($argument:expr),*), $else:expr) => {
        match $next.address() {
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
    };
}
