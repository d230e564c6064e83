//! The objects of the process, which are its executable and its libraries: their memory as the loader
//! describes it, which of them are instrumented, and which are OpenMP runtimes.
#![allow(unsafe_code)]

use std::ffi::{c_int, c_void};
use std::ops::Range;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

/// An object, while the loader describes it.
pub(crate) struct Object<'a> {
    info: &'a libc::dl_phdr_info,
    headers: &'a [libc::Elf64_Phdr],
}

/// A piece of memory that is filled from an object's file, and is zero beyond.
pub(crate) struct Segment {
    pub(crate) filled: Range<u64>,
    pub(crate) zero: Range<u64>,
}

impl Segment {
    fn new(begin: u64, header: &libc::Elf64_Phdr) -> Segment {
        let (zero, end) = (begin + header.p_filesz, begin + header.p_memsz);
        Segment {
            filled: begin..zero,
            zero: zero..end,
        }
    }
}

impl Object<'_> {
    /// Its segments in memory.
    pub(crate) fn segments(&self) -> impl Iterator<Item = Segment> {
        let loaded = self.headers.iter().filter(|it| it.p_type == libc::PT_LOAD);
        loaded.map(|header| Segment::new(self.info.dlpi_addr + header.p_vaddr, header))
    }

    /// From its first byte to its last one.
    pub(crate) fn bounds(&self) -> Range<u64> {
        let all = self.segments().map(|it| it.filled.start..it.zero.end);
        all.reduce(|all, one| all.start.min(one.start)..all.end.max(one.end))
            .unwrap_or_default()
    }

    /// The calling thread's own memory of it; `None` if the thread has none yet.
    pub(crate) fn thread_local(&self) -> Option<Segment> {
        let block = self.info.dlpi_tls_data as u64;
        let header = self.headers.iter().find(|it| it.p_type == libc::PT_TLS)?;
        (block != 0).then(|| Segment::new(block, header))
    }

    fn is_executable(&self) -> bool {
        let name = self.info.dlpi_name;
        // SAFETY: the loader's name is NULL or a C string.
        name.is_null() || unsafe { *name == 0 }
    }
}

/// The first thing that `find` returns of an object.
pub(crate) fn first<T, F: FnMut(&Object<'_>) -> Option<T>>(find: F) -> Option<T> {
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
pub(crate) fn each(mut visit: impl FnMut(&Object<'_>)) {
    first(|object| {
        visit(object);
        None::<()>
    });
}

/// What `of` returns of the object with `address`.
pub(crate) fn with<T>(address: u64, of: impl Fn(&Object<'_>) -> T) -> Option<T> {
    first(|object| object.bounds().contains(&address).then(|| of(object)))
}

/// The bounds of the library with `address`; empty for the executable.
pub(crate) fn library_of(address: u64) -> Range<u64> {
    let bounds = |object: &Object<'_>| {
        if object.is_executable() {
            0..0
        } else {
            object.bounds()
        }
    };
    with(address, bounds).unwrap_or_default()
}

/// Most ranges that a table holds.
pub(crate) const MOST: usize = 64;

/// A table of ranges of memory, to which any thread adds and any thread looks. More than [`MOST`] are not
/// known.
pub(crate) struct Ranges([[AtomicU64; 2]; MOST]);

impl Ranges {
    pub(crate) const fn new() -> Ranges {
        Ranges([const { [AtomicU64::new(0), AtomicU64::new(0)] }; MOST])
    }

    pub(crate) fn add(&self, range: Range<u64>) {
        let is_taken = |[start, _]: &&[AtomicU64; 2]| {
            let set = start.compare_exchange(0, range.start, Relaxed, Relaxed);
            set.is_ok()
        };
        if let Some([_, end]) = self.0.iter().find(is_taken) {
            end.store(range.end, Relaxed);
        }
    }

    #[inline]
    pub(crate) fn iter(&self) -> impl Iterator<Item = Range<u64>> {
        let all = self.0.iter();
        all.map(|[start, end]| start.load(Relaxed)..end.load(Relaxed))
            .take_while(|range| range.start != 0)
    }

    #[inline]
    pub(crate) fn contains(&self, address: u64) -> bool {
        self.iter().any(|range| range.contains(&address))
    }
}

/// The objects that call the sanitizer.
static INSTRUMENTED: Ranges = Ranges::new();

/// The object with `code` is instrumented. Whether that is new.
pub(crate) fn note_instrumented(code: u64) -> bool {
    let is_new = !is_instrumented(code);
    if is_new && let Some(bounds) = with(code, |object| object.bounds()) {
        INSTRUMENTED.add(bounds);
    }
    is_new
}

/// Whether `code` is in an object that calls the sanitizer.
#[inline]
pub(crate) fn is_instrumented(code: u64) -> bool {
    INSTRUMENTED.contains(code)
}

/// An address in each object that calls the sanitizer.
pub(crate) fn instrumented() -> impl Iterator<Item = u64> {
    INSTRUMENTED.iter().map(|bounds| bounds.start)
}

/// OpenMP's runtimes.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Runtime {
    /// LLVM's or a like one, with OMPT.
    Ompt,
    /// libgomp.
    Gomp,
}

/// Their bounds.
static RUNTIMES: [[AtomicU64; 2]; 2] = [const { [AtomicU64::new(0), AtomicU64::new(0)] }; 2];

/// The object of a runtime has these bounds.
pub(crate) fn note_runtime(runtime: Runtime, bounds: Range<u64>) {
    if let Some([start, end]) = RUNTIMES.get(runtime as usize) {
        start.store(bounds.start, Relaxed);
        end.store(bounds.end, Relaxed);
    }
}

/// Whether `code` is in an OpenMP runtime.
pub(crate) fn is_runtime(code: u64) -> bool {
    RUNTIMES
        .iter()
        .any(|[start, end]| (start.load(Relaxed)..end.load(Relaxed)).contains(&code))
}
