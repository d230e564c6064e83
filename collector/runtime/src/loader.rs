//! Which object an address lies in, and what a name means there.
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
    /// The object that holds `address`. Takes no lock that a constructor could be waited for in.
    pub(crate) fn at(address: u64) -> Option<Module> {
        let mut search = (address, None);
        // SAFETY: the callback gets the pointer to `search`, which outlives the call.
        unsafe { libc::dl_iterate_phdr(Some(visit), (&raw mut search).cast()) };
        search.1
    }

    /// The names that this object and its dependencies define; `None` for one that is not to be
    /// had by its name.
    pub(crate) fn open(&self) -> Option<Names> {
        // SAFETY: the loader's own string of an object that is loaded; nothing gets loaded.
        let handle = unsafe { libc::dlopen(self.name, libc::RTLD_LAZY | libc::RTLD_NOLOAD) };
        (!handle.is_null()).then(|| Names(handle))
    }

    /// Whether it is this library.
    pub(crate) fn is_own(&self) -> bool {
        let own: fn(&Module) -> bool = Module::is_own;
        self.range.contains(&(own as usize as u64))
    }

    /// Keeps the object loaded for ever, if it is not so already: what was loaded with the program
    /// is, and the loader would note the request in the program's heap.
    pub(crate) fn pin(&self) {
        if self.is_of_the_start() {
            return;
        }
        let flags = libc::RTLD_LAZY | libc::RTLD_NOLOAD | libc::RTLD_NODELETE;
        // SAFETY: as in `open`.
        unsafe { libc::dlopen(self.name, flags) };
    }

    /// Whether it was loaded with the program, as far as that can be told: it stands before the
    /// loader itself, behind which the loader lists what it opens later.
    fn is_of_the_start(&self) -> bool {
        // SAFETY: takes a number and returns one.
        let loader = unsafe { libc::getauxval(libc::AT_BASE) };
        let mut before = false;
        any_module(|module| {
            before |= module.range.start == self.range.start;
            before || module.range.contains(&loader)
        });
        before
    }
}

/// The objects in the order in which they were loaded, each visited by `f` until it says true.
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
    // SAFETY: the callback gets the pointer to `search`, which outlives the call.
    unsafe { libc::dl_iterate_phdr(Some(visit_nth), (&raw mut search).cast()) };
    search.1
}

unsafe extern "C" fn visit_nth(
    info: *mut libc::dl_phdr_info,
    _size: usize,
    search: *mut c_void,
) -> c_int {
    // SAFETY: the loader passes a valid description, and `nth` passed its own local.
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
    // SAFETY: the loader passes a valid description, and `at` passed its own local.
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

/// Where names are looked up.
pub(crate) struct Names(*mut c_void);

impl Names {
    /// What the loader would have found had this library not been preloaded: the global scope
    /// behind it.
    pub(crate) fn next() -> Names {
        Names(libc::RTLD_NEXT)
    }

    /// The global scope.
    pub(crate) fn all() -> Names {
        Names(libc::RTLD_DEFAULT)
    }

    /// The address of `name`, in its version `version` if it has that; 0 where there is none.
    ///
    /// The loader's look-up behind a library takes a symbol's oldest version where none is
    /// asked for. It is not asked for what no object defines: it would put its refusal into the
    /// program's heap, and so move what the program, and its runtime, allocate after it.
    pub(crate) fn find(&self, name: &CStr, version: Option<&CStr>) -> usize {
        if !symbols::is_defined(name) {
            return 0;
        }
        // SAFETY: the handle is open, or stands for a scope; the names are C strings.
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

impl Drop for Names {
    fn drop(&mut self) {
        if self.0 != libc::RTLD_NEXT && self.0 != libc::RTLD_DEFAULT {
            // SAFETY: `open` took this reference.
            unsafe { libc::dlclose(self.0) };
        }
    }
}
