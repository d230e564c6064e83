//! Which objects of the process are instrumented, and which are OpenMP runtimes.

use std::ops::Range;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use inside::objects::with;

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
static RUNTIMES: Ranges = Ranges::new();

/// The object of a runtime has these bounds.
pub(crate) fn note_runtime(bounds: Range<u64>) {
    if !is_runtime(bounds.start) {
        RUNTIMES.add(bounds);
    }
}

/// Whether `code` is in an OpenMP runtime.
#[inline]
pub(crate) fn is_runtime(code: u64) -> bool {
    RUNTIMES.contains(code)
}
