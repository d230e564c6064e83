//! The objects of the process, which are its executable and its libraries: their memory as the loader
//! describes it.
#![allow(unsafe_code)]

use std::ffi::{CStr, c_char, c_int, c_void};
use std::ops::Range;

/// An object, while the loader describes it.
#[derive(Debug)]
pub struct Object<'a> {
    info: &'a libc::dl_phdr_info,
    headers: &'a [libc::Elf64_Phdr],
}

/// A piece of memory that is filled from an object's file, and is zero beyond.
#[derive(Debug)]
pub struct Segment {
    /// Addresses of what the file fills.
    pub filled: Range<u64>,
    /// Addresses of the zeros.
    pub zero: Range<u64>,
    /// The program may write to it.
    pub is_writable: bool,
}

impl Segment {
    fn new(begin: u64, header: &libc::Elf64_Phdr) -> Segment {
        let (zero, end) = (begin + header.p_filesz, begin + header.p_memsz);
        Segment {
            filled: begin..zero,
            zero: zero..end,
            is_writable: header.p_flags & libc::PF_W != 0,
        }
    }
}

impl Object<'_> {
    /// Its segments in memory.
    pub fn segments(&self) -> impl Iterator<Item = Segment> {
        let loaded = self.headers.iter().filter(|it| it.p_type == libc::PT_LOAD);
        loaded.map(|header| Segment::new(self.info.dlpi_addr + header.p_vaddr, header))
    }

    /// From its first byte to its last one.
    pub fn bounds(&self) -> Range<u64> {
        let all = self.segments().map(|it| it.filled.start..it.zero.end);
        all.reduce(|all, one| all.start.min(one.start)..all.end.max(one.end))
            .unwrap_or_default()
    }

    /// The calling thread's own memory of it; `None` if the thread has none yet.
    pub fn thread_local(&self) -> Option<Segment> {
        let block = self.info.dlpi_tls_data as u64;
        let header = self.headers.iter().find(|it| it.p_type == libc::PT_TLS)?;
        (block != 0).then(|| Segment::new(block, header))
    }

    /// What is added to addresses in its file.
    pub fn base(&self) -> u64 {
        self.info.dlpi_addr
    }

    /// The address of its dynamic section.
    pub(crate) fn dynamic(&self) -> Option<u64> {
        let mut headers = self.headers.iter();
        let header = headers.find(|it| it.p_type == libc::PT_DYNAMIC)?;
        Some(self.info.dlpi_addr + header.p_vaddr)
    }

    /// The loader's name for it.
    pub(crate) fn name(&self) -> *const c_char {
        self.info.dlpi_name
    }

    /// The path by which it was loaded; empty for the executable.
    pub fn path(&self) -> &[u8] {
        let name = self.info.dlpi_name;
        if name.is_null() {
            return &[];
        }
        // SAFETY: a C string of the loader's, which lives as long as its description.
        unsafe { CStr::from_ptr(name) }.to_bytes()
    }

    /// Whether it is the library that asks.
    pub fn is_own(&self) -> bool {
        self.bounds().contains(&(own as *const () as u64))
    }

    fn is_executable(&self) -> bool {
        let name = self.info.dlpi_name;
        // SAFETY: the loader's name is NULL or a C string.
        name.is_null() || unsafe { *name == 0 }
    }
}

/// A function of the library that asks, whichever has this code.
extern "C" fn own() {}

/// The first thing that `find` returns of an object.
pub fn first<T, F: FnMut(&Object<'_>) -> Option<T>>(find: F) -> Option<T> {
    struct Search<T, F> {
        find: F,
        found: Option<T>,
    }
    unsafe extern "C" fn visit<T, F: FnMut(&Object<'_>) -> Option<T>>(
        info: *mut libc::dl_phdr_info,
        _size: usize,
        search: *mut c_void,
    ) -> c_int {
        // SAFETY: the loader's description, with its table of that length; `first` passes the search.
        let (object, search) = unsafe {
            let info = &*info;
            let headers = std::slice::from_raw_parts(info.dlpi_phdr, info.dlpi_phnum.into());
            (
                Object { info, headers },
                &mut *search.cast::<Search<T, F>>(),
            )
        };
        search.found = (search.find)(&object);
        search.found.is_some().into()
    }
    let mut search = Search { find, found: None };
    // SAFETY: the loader passes the pointer to the callback, and `search` outlives the call.
    unsafe { libc::dl_iterate_phdr(Some(visit::<T, F>), (&raw mut search).cast()) };
    search.found
}

/// Calls `visit` with each object.
pub fn each(mut visit: impl FnMut(&Object<'_>)) {
    first(|object| {
        visit(object);
        None::<()>
    });
}

/// What `of` returns of the object with `address`.
pub fn with<T>(address: u64, of: impl Fn(&Object<'_>) -> T) -> Option<T> {
    first(|object| object.bounds().contains(&address).then(|| of(object)))
}

/// How many objects the loader has loaded so far, at its start and later.
pub fn loads() -> u64 {
    first(|object| Some(object.info.dlpi_adds)).unwrap_or_default()
}

/// The bounds of the library with `address`; empty for the executable.
pub fn library_of(address: u64) -> Range<u64> {
    let bounds = |object: &Object<'_>| {
        if object.is_executable() {
            0..0
        } else {
            object.bounds()
        }
    };
    with(address, bounds).unwrap_or_default()
}
