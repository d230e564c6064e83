//! The loader: objects by name, and the symbols that it finds in them.
#![allow(unsafe_code)]

use std::ffi::{CStr, c_char, c_void};
use std::ops::Range;
use std::ptr;

use crate::objects::{self, Object};
use crate::symbols;

/// A loaded object, also after the loader has described it.
#[derive(Clone, Debug)]
pub struct Module {
    /// Its addresses.
    pub range: Range<u64>,
    /// The loader's name for it, empty for the executable. Valid while the object is loaded.
    name: *const c_char,
    is_own: bool,
}

impl Module {
    fn new(object: &Object<'_>) -> Module {
        Module {
            range: object.bounds(),
            name: object.name(),
            is_own: object.is_own(),
        }
    }

    /// The object that holds `address`. Does not take the lock that the loader holds while it runs a
    /// constructor.
    #[must_use]
    pub fn at(address: u64) -> Option<Module> {
        objects::with(address, Module::new)
    }

    /// The symbols of this object and its dependencies; `None` if the loader does not find the
    /// object by its name.
    #[must_use]
    pub fn open(&self) -> Option<Scope> {
        // SAFETY: `name` is the loader's own string, valid while the object is loaded, and with
        // RTLD_NOLOAD the call loads nothing and so runs no constructor.
        let handle = unsafe { libc::dlopen(self.name, libc::RTLD_LAZY | libc::RTLD_NOLOAD) };
        (!handle.is_null()).then(|| Scope(handle))
    }

    /// Whether it is the library that asks.
    #[must_use]
    pub fn is_own(&self) -> bool {
        self.is_own
    }

    /// Keeps the object loaded until the process ends. An object that was loaded with the program
    /// stays anyway, and for it the loader would allocate a note in the program's heap.
    pub fn pin(&self) {
        if self.is_loaded_at_start() {
            return;
        }
        let flags = libc::RTLD_LAZY | libc::RTLD_NOLOAD | libc::RTLD_NODELETE;
        // SAFETY: as in `open`.
        unsafe { libc::dlopen(self.name, flags) };
    }

    /// Whether it was loaded with the program: it precedes the loader in the loader's list. Objects
    /// that are opened later follow it.
    fn is_loaded_at_start(&self) -> bool {
        // SAFETY: the call takes a number, returns a number and touches no memory of ours.
        let loader = unsafe { libc::getauxval(libc::AT_BASE) };
        let decides = |object: &Object<'_>| {
            let range = object.bounds();
            let is_it = range.start == self.range.start;
            (is_it || range.contains(&loader)).then_some(is_it)
        };
        objects::first(decides).unwrap_or_default()
    }
}

/// Calls `f` with each object, in the order of loading, until it returns true. `f` may call the loader.
pub fn any_module(mut f: impl FnMut(&Module) -> bool) {
    let nth = |number: usize| {
        let mut before = number;
        objects::first(|object| match before {
            0 => Some(Module::new(object)),
            _ => {
                before -= 1;
                None
            }
        })
    };
    (0..).map_while(nth).find(|module| f(module));
}

/// A scope of the loader, in which symbols are looked up.
#[derive(Debug)]
pub struct Scope(*mut c_void);

impl Scope {
    /// The global scope behind this library: what the loader would find if this library were not
    /// preloaded.
    #[must_use]
    pub fn next() -> Scope {
        Scope(libc::RTLD_NEXT)
    }

    /// The global scope.
    #[must_use]
    pub fn all() -> Scope {
        Scope(libc::RTLD_DEFAULT)
    }

    /// The address of `name`; 0 if it is not defined. Takes version `version` if there is one.
    /// Without a version, the loader's look-up behind a library takes the oldest.
    ///
    /// A name that no object defines is not asked for: the loader would allocate its error message
    /// in the program's heap, and so move what the program and its runtime allocate later.
    #[must_use]
    pub fn find(&self, name: &CStr, version: Option<&CStr>) -> usize {
        if !symbols::is_defined(name) {
            return 0;
        }
        // SAFETY: the handle came from `dlopen` and is closed only on drop, or is one of the
        // constants that dlsym(3) defines; both names are C strings.
        unsafe {
            let found = version.map_or(ptr::null_mut(), |version| {
                libc::dlvsym(self.0, name.as_ptr(), version.as_ptr())
            });
            if found.is_null() {
                libc::dlsym(self.0, name.as_ptr()) as usize
            } else {
                found as usize
            }
        }
    }
}

impl Drop for Scope {
    fn drop(&mut self) {
        if self.0 != libc::RTLD_NEXT && self.0 != libc::RTLD_DEFAULT {
            // SAFETY: not a constant, so `open` got the handle from `dlopen`. It is closed once.
            unsafe { libc::dlclose(self.0) };
        }
    }
}
