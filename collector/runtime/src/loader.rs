//! The loaded objects: which one holds an address, and which symbols it defines.
#![allow(unsafe_code)]

use std::ffi::{CStr, c_char, c_int, c_void};
use std::ops::Range;
use std::ptr;

use crate::symbols::{self, range_of};

/// A load object.
#[derive(Clone, Debug)]
pub(crate) struct Module {
    /// Its addresses.
    pub(crate) range: Range<u64>,
    /// The loader's name for it, empty for the executable. Valid while the object is loaded.
    name: *const c_char,
}

impl Module {
    /// The object that holds `address`. Does not take the lock that the loader holds while it runs a
    /// constructor.
    pub(crate) fn at(address: u64) -> Option<Module> {
        let mut search = (address, None);
        // SAFETY: the loader passes the pointer to the callback and keeps no copy, and `search`
        // outlives the call. The callback casts it back to the type of `search`.
        unsafe { libc::dl_iterate_phdr(Some(visit), (&raw mut search).cast()) };
        search.1
    }

    /// The symbols of this object and its dependencies; `None` if the loader does not find the
    /// object by its name.
    pub(crate) fn open(&self) -> Option<Scope> {
        // SAFETY: `name` is the loader's own string, valid while the object is loaded, and with
        // RTLD_NOLOAD the call loads nothing and so runs no constructor.
        let handle = unsafe { libc::dlopen(self.name, libc::RTLD_LAZY | libc::RTLD_NOLOAD) };
        (!handle.is_null()).then(|| Scope(handle))
    }

    /// Whether it is the executable, which the loader lists first.
    pub(crate) fn is_executable(&self) -> bool {
        nth(0).is_some_and(|first| first.range == self.range)
    }

    /// Whether it is this library.
    pub(crate) fn is_own(&self) -> bool {
        let own: fn(&Module) -> bool = Module::is_own;
        self.range.contains(&(own as usize as u64))
    }

    /// Keeps the object loaded until the process ends. An object that was loaded with the program
    /// stays anyway, and for it the loader would allocate a note in the program's heap.
    pub(crate) fn pin(&self) {
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
        let mut before = false;
        any_module(|module| {
            before |= module.range.start == self.range.start;
            before || module.range.contains(&loader)
        });
        before
    }
}

/// Calls `f` with each object, in the order of loading, until it returns true.
pub(crate) fn any_module(mut f: impl FnMut(&Module) -> bool) {
    let mut index = 0;
    while let Some(module) = nth(index) {
        if f(&module) {
            return;
        }
        index += 1;
    }
}

fn nth(index: usize) -> Option<Module> {
    let mut search = (index, None);
    // SAFETY: the loader passes the pointer to the callback and keeps no copy, and `search`
    // outlives the call. The callback casts it back to the type of `search`.
    unsafe { libc::dl_iterate_phdr(Some(visit_nth), (&raw mut search).cast()) };
    search.1
}

unsafe extern "C" fn visit_nth(
    info: *mut libc::dl_phdr_info,
    _size: usize,
    search: *mut c_void,
) -> c_int {
    // SAFETY: the loader passes a description that is valid during the callback. `nth` passed a
    // pointer to its own local, of this type, to which it holds no reference meanwhile.
    let (info, search) = unsafe { (&*info, &mut *search.cast::<(usize, Option<Module>)>()) };
    if search.0 > 0 {
        search.0 -= 1;
        return 0;
    }
    search.1 = Some(Module {
        range: range_of(info),
        name: info.dlpi_name,
    });
    1
}

unsafe extern "C" fn visit(
    info: *mut libc::dl_phdr_info,
    _size: usize,
    search: *mut c_void,
) -> c_int {
    // SAFETY: the loader passes a description that is valid during the callback. `at` passed a
    // pointer to its own local, of this type, to which it holds no reference meanwhile.
    let (info, search) = unsafe { (&*info, &mut *search.cast::<(u64, Option<Module>)>()) };
    let range = range_of(info);
    if !range.contains(&search.0) {
        return 0;
    }
    search.1 = Some(Module {
        range,
        name: info.dlpi_name,
    });
    1
}

/// A scope of the loader, in which symbols are looked up.
pub(crate) struct Scope(*mut c_void);

impl Scope {
    /// The global scope behind this library: what the loader would find if this library were not
    /// preloaded.
    pub(crate) fn next() -> Scope {
        Scope(libc::RTLD_NEXT)
    }

    /// The global scope.
    pub(crate) fn all() -> Scope {
        Scope(libc::RTLD_DEFAULT)
    }

    /// The address of `name`; 0 if it is not defined. Takes version `version` if there is one.
    /// Without a version, the loader's look-up behind a library takes the oldest.
    ///
    /// A name that no object defines is not asked for: the loader would allocate its error message
    /// in the program's heap, and so move what the program and its runtime allocate later.
    pub(crate) fn find(&self, name: &CStr, version: Option<&CStr>) -> usize {
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
