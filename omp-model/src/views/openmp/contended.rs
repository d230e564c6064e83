//! Useful work at instructions for whose memory threads contend: atomic operations, and stores to elements
//! side by side. That a thread waits there for a cache line which another one has is no event; the machine
//! code tells the instructions, and samples how much of the work stands at them.

use experiment::ids::{ContextId, StackId};
use experiment::symbols::Contention;
use experiment::tables::StackEntry;
use rustc_hash::FxHashMap;

use super::efficiency::{Run, is_useful};
use super::innermost_regions;
use super::own_code::{OwnCode, OwnPlace};
use crate::profile::{PathId, Profile};
use crate::views::names::Names;

/// Work at instructions of one kind.
#[derive(Clone, Debug, PartialEq)]
pub struct Contended {
    /// Thread seconds, by samples.
    pub seconds: f64,
    /// The seconds of all useful work.
    pub all: f64,
    /// The place with most of it.
    pub(super) place: OwnPlace,
}

/// The share of the useful work from which stores to elements side by side are told. A store takes time
/// without contention, too.
const LEAST_NEIGHBOURS: f64 = 0.1;

impl Contended {
    /// In the regions of a run with several threads; `None` if no sample is at such an instruction.
    pub(super) fn of(
        profile: &Profile,
        names: &Names<'_>,
        run: &Run,
        (kind, own): (Contention, &OwnCode<'_>),
    ) -> Option<Contended> {
        let regions = innermost_regions(names.tables);
        let mut known = FxHashMap::<StackId, bool>::default();
        let mut is_such = |stack: StackId| {
            *known.entry(stack).or_insert_with(|| {
                let Some(StackEntry::Frame(at)) = names.tables.walk(stack).next() else {
                    return false;
                };
                let fact = names.symbols.code_of(at);
                fact.is_some_and(|fact| fact.contention == Some(kind))
            })
        };
        let items = profile.items.iter().filter(|item| {
            let thread = names.tables.threads.get(item.thread.index());
            let region = regions.get(item.context.index());
            let inside = region.is_some_and(|&region| region != ContextId::ROOT);
            let is_work = thread.is_some_and(|thread| is_useful(item, thread.kind, inside));
            inside && is_work && is_such(item.stack)
        });
        let times: Vec<(PathId, f64)> = items.map(|item| (item.path, item.seconds)).collect();
        let seconds: f64 = times.iter().map(|(_, seconds)| seconds).sum();
        (seconds > 0.0 && run.threads > 1).then(|| Contended {
            seconds,
            all: run.spent.useful,
            place: own.place(&times),
        })
    }

    /// The place with most of it.
    pub fn location(&self) -> &super::locations::ConstructLocation {
        &self.place.location
    }

    /// Whether stores are worth a word.
    pub(super) fn is_large(&self) -> bool {
        self.seconds >= LEAST_NEIGHBOURS * self.all
    }

    /// What stores to elements side by side may mean: the time that they take from each other is not known.
    pub fn hint(&self) -> String {
        format!(
            "A hint, inferred from the machine code: {} writes again and again to elements that threads choose by \
             their number, in one cache line (false sharing); {:.0} % of the useful work stands there by samples. \
             Sum up in a variable of each thread's own, or give each a cache line (64 bytes); how much that saves \
             depends on the processor",
            self.location().short(),
            100.0 * self.seconds / self.all
        )
    }
}
