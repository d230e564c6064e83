//! Time in a thread state is measured; samples only say where within it.
//!
//! The experiment has the sum of time that each thread spent in each thread state, in each slice
//! of time, on and off the CPU: a *group*. Its samples divide it among their stacks, in whole
//! nanoseconds and to the last one. A group without samples takes the stacks of the nearest one
//! ([`inference`] has the order), or stands at the construct itself, and is marked as inferred.
//!
//! One pass over the samples does it, slice by slice ([`pass`]). Shares are the same in both modes,
//! only their display stacks differ: that is why totals in user mode equal totals in machine mode,
//! thread by thread.

mod accumulator;
mod blame;
mod division;
mod group;
mod inference;
mod measured;
mod nearest;
mod pass;
mod roots;
mod share;
mod sleeps;
#[cfg(test)]
mod tests;

use rustc_hash::FxHashMap;

use crate::experiment::{Samples, Sums};
use crate::header::Header;
use crate::ids::StackId;
use crate::profile::{Profile, Shown, ViewMode};
use crate::rewrite::{Moment, Rewriter};
use crate::rows::{Blame, Interval};
use crate::symbols::SymbolTable;
use crate::tables::{Tables, ThreadKind};

use group::{kind_of, tag_of};
use share::{Origin, Share};

/// What time is attributed from, besides samples.
#[derive(Clone, Copy, Debug)]
pub struct Source<'a> {
    /// The tables that all rows point to.
    pub tables: &'a Tables,
    /// Names for addresses.
    pub symbols: &'a SymbolTable,
    /// Measured time.
    pub sums: &'a Sums,
    /// Waiting time that is known to be owed to a thread.
    pub blames: &'a [Blame],
    /// Long intervals, listed one by one.
    pub intervals: &'a [Interval],
    /// How it was recorded.
    pub header: &'a Header,
}

/// What becomes of the slices of time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Slices {
    /// They are summed up: what is kept grows with distinct stacks alone.
    Folded,
    /// Each stays by itself, with as many shares as it shows distinct stacks: there may be nearly
    /// as many as there are samples.
    Apart,
}

/// All thread time of a recording, attributed to measured stacks.
#[derive(Debug)]
pub struct Attribution {
    shares: Vec<Share>,
    evidence: Vec<Moment>,
    /// The stack that idle threads of a kind are usually seen at.
    idle: FxHashMap<ThreadKind, StackId>,
}

impl Attribution {
    /// One pass over the samples, which are unpacked on all CPUs.
    pub fn new(source: &Source<'_>, samples: &Samples, slices: Slices) -> Attribution {
        pass::run(source, samples, slices)
    }

    /// Every distinct moment that was seen, in the order of stacks.
    pub fn moments(&self) -> &[Moment] {
        &self.evidence
    }

    /// Seconds whose stack is inferred in a mode, and all seconds.
    pub fn inferred(&self, source: &Source<'_>, mode: ViewMode) -> (f64, f64) {
        let inferred = |share: &&Share| share.is_inferred(tag_of(source.tables, share.tag), mode);
        let inferred = self.shares.iter().filter(inferred);
        let seconds = |nanos: u64| nanos as f64 / 1e9;
        (
            seconds(inferred.map(|share| share.nanos).sum()),
            seconds(self.shares.iter().map(|share| share.nanos).sum()),
        )
    }

    /// The shares over the display stacks of a mode. `source` is the one that they were made from.
    pub fn profile(&self, source: &Source<'_>, mode: ViewMode) -> Profile {
        let tables = source.tables;
        let mut rewriter = Rewriter::new(tables, source.symbols, self.moments().iter().copied());
        let mut place = |share: &Share| {
            let thread = kind_of(tables, share.thread);
            let moment = |stack| Moment {
                stack,
                tag: share.tag,
                thread,
            };
            match (mode, share.origin) {
                (ViewMode::Machine, Origin::Construct) => {
                    let (path, shown) = rewriter.machine_place(share.tag, thread);
                    match self.idle.get(&thread) {
                        Some(&stack) if shown == Shown::Idle => {
                            (rewriter.machine(moment(stack)).0, shown)
                        }
                        _ => (path, shown),
                    }
                }
                (ViewMode::Machine, _) => rewriter.machine(moment(share.stack)),
                (_, Origin::Construct) => rewriter.user_place(share.tag, thread),
                _ => rewriter.user(moment(share.stack)),
            }
        };
        let items = self.shares.iter().map(|share| {
            let tag = tag_of(tables, share.tag);
            share.item(tag, mode, place(share))
        });
        let items = items.collect();
        let mut paths = rewriter.into_paths();
        paths.close();
        Profile { mode, paths, items }
    }
}
