//! Useful work that threads did in the kernel, by the reason of entry.
//!
//! It is measured time; that it was the kernel's, and why, is what the samples say.

use experiment::ids::{ContextId, StackId};
use experiment::tables::ThreadKind;
use rustc_hash::FxHashMap;

use super::efficiency::is_useful;
use super::locations::ConstructLocation;
use super::own_code::OwnCode;
use crate::kernel::{self, PAGE_FAULT};
use crate::profile::{Item, PathId, Profile};
use crate::views::names::Names;

/// System calls by which `malloc` and `free` get memory and give it back.
const HEAP_CALLS: [&str; 5] = ["brk", "mmap", "munmap", "mremap", "madvise"];

/// System calls that give memory back, or may.
const GIVING_BACK: [&str; 3] = ["brk", "munmap", "madvise"];

/// The share of these calls in the time of page faults from which freed memory is what faults: to
/// take a page away costs the kernel about a third of what it costs to give one, and to grow a heap
/// by 128 KiB a twentieth.
const TRIMMED: f64 = 0.15;

/// Useful work in the kernel for one reason.
#[derive(Clone, Debug, PartialEq)]
pub struct KernelPart {
    /// The reason of entry; empty if no stack tells.
    pub reason: String,
    /// Thread seconds.
    pub seconds: f64,
    /// The program's own function with most of it.
    pub location: ConstructLocation,
}

impl KernelPart {
    /// Whether it is spent on the program's memory.
    pub fn is_memory(&self) -> bool {
        self.reason == PAGE_FAULT || HEAP_CALLS.contains(&self.reason.as_str())
    }
}

/// The useful work of OpenMP's threads in the kernel, largest part first. `profile` is in user mode.
pub(super) fn kernel_work(profile: &Profile, names: &Names<'_>) -> Vec<KernelPart> {
    let regions = super::innermost_regions(names.tables);
    let useful = |item: &Item| {
        let thread = names.tables.threads.get(item.thread.index());
        let region = regions.get(item.context.index());
        let inside = region.is_some_and(|&region| region != ContextId::ROOT);
        let kind = thread.map_or(ThreadKind::Outside, |thread| thread.kind);
        is_useful(item, kind, inside)
    };
    parts(profile, names, useful)
}

/// The time in the kernel on a CPU of the items that a condition names, largest part first.
pub(super) fn parts(
    profile: &Profile,
    names: &Names<'_>,
    counts: impl Fn(&Item) -> bool,
) -> Vec<KernelPart> {
    let mut known = FxHashMap::<StackId, &str>::default();
    let mut by_reason = FxHashMap::<&str, Vec<(PathId, f64)>>::default();
    let items = profile.items.iter();
    for item in items.filter(|it| it.seconds > 0.0 && it.kernel && it.is_on_cpu() && counts(it)) {
        let reason = *known.entry(item.stack).or_insert_with(|| {
            kernel::reason_of(names.tables, names.symbols, item.stack).unwrap_or_default()
        });
        let times = by_reason.entry(reason).or_default();
        times.push((item.path, item.seconds));
    }
    if by_reason.is_empty() {
        return Vec::new();
    }
    let own = OwnCode::of(profile, names);
    let part = |(reason, times): (&str, Vec<(PathId, f64)>)| KernelPart {
        reason: reason.to_owned(),
        seconds: times.iter().map(|(_, seconds)| seconds).sum(),
        location: own.place(&times).location,
    };
    let mut parts: Vec<KernelPart> = by_reason.into_iter().map(part).collect();
    parts.sort_by(|left, right| {
        let larger = right.seconds.total_cmp(&left.seconds);
        larger.then_with(|| left.reason.cmp(&right.reason))
    });
    parts
}

/// The parts in words: `page faults 1.230 s, brk 0.210 s`.
pub(super) fn words(parts: &[KernelPart]) -> String {
    let word = |part: &KernelPart| format!("{} {:.3} s", reason_words(&part.reason), part.seconds);
    let parts: Vec<String> = parts.iter().take(3).map(word).collect();
    parts.join(", ")
}

/// A reason of entry in a list of them.
pub fn reason_words(reason: &str) -> &str {
    match reason {
        PAGE_FAULT => "page faults",
        "" => "other reasons",
        other => other,
    }
}

/// What to try against time in the kernel; `None` if it depends on what the program wants of it.
pub(super) fn mending(parts: &[KernelPart]) -> Option<&'static str> {
    let sum = |of: &dyn Fn(&KernelPart) -> bool| -> f64 {
        let parts = parts.iter().filter(|part| of(part));
        parts.map(|part| part.seconds).sum()
    };
    let all = sum(&|_| true);
    let faults = sum(&|part| part.reason == PAGE_FAULT);
    let giving_back = sum(&|part| GIVING_BACK.contains(&part.reason.as_str()));
    if sum(&KernelPart::is_memory) <= 0.5 * all {
        return None;
    }
    Some(if giving_back > TRIMMED * faults {
        "memory that is freed goes back to the kernel, and what is allocated next probably faults \
         in anew: allocate once, outside of the loops, or have glibc keep it \
         (MALLOC_TOP_PAD_=268435456, or MALLOC_TRIM_THRESHOLD_ and MALLOC_MMAP_THRESHOLD_ \
         together, both larger than what is freed)"
    } else {
        "most of it is probably memory that is touched for the first time: if one thread touches it, \
         touch it in parallel, with the schedule of the loops that use it; huge pages may make it \
         cheaper (GLIBC_TUNABLES=glibc.malloc.hugetlb=1 for memory of malloc, madvise for other)"
    })
}
