//! Stacks that are deeper than the piece copied with their sample, completed by what the other
//! samples until they are written have shown.
//!
//! Those whose outer frames could be read a moment later ([`crate::outer`]) tell how the others go
//! on: what called the same frame of the same thread, and how a runtime calls the code of regions.
//! What lies outside of a region is that of its fork point ([`crate::joins`]).

use omp_model::ids::{ContextId, Nanos, ProcessId, StackId, ThreadId};
use omp_model::rows::Sample;
use omp_model::tables::{ContextKind, StackEntry, Tables, ThreadKind};
use rustc_hash::{FxHashMap, FxHashSet};

use crate::joins::{Joins, is_runtime, with_callers};
use crate::outer::{Edge, Place, Trust};

/// The callers of so many frames are kept; then they are gathered anew.
const MOST: usize = 1 << 16;

/// What is known of a stack beyond the copied piece.
#[derive(Clone, Copy, Debug)]
pub struct Deep {
    /// So many of its entries, kernel frames among them, are in the piece.
    pub inner: usize,
    /// The outermost of those.
    pub place: Place,
    /// What called that, if it could be read.
    pub callers: Option<StackId>,
    /// What speaks for that.
    pub trust: Trust,
}

impl Deep {
    /// A stack that leaves its piece there; `None` where that place cannot be told again.
    pub fn at(edge: Edge) -> Option<Deep> {
        Some(Deep {
            inner: edge.inner,
            place: edge.place?,
            callers: None,
            trust: edge.trust,
        })
    }
}

/// What a sample's stack became.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Completed {
    /// It was cut, and leads to the fork point of its region.
    Joined,
    /// It was cut, and another sample told how it goes on.
    Remembered,
    /// It had been read, and its region's fork point knew better.
    Mended,
}

/// The deep stacks of samples that are not yet written, and what written ones have shown.
#[derive(Default)]
pub struct DeepStacks {
    /// By thread and time.
    known: FxHashMap<(ThreadId, Nanos), Deep>,
    callers: FxHashMap<(ThreadId, Place), StackId>,
    /// Where functions begin that a runtime calls.
    called: FxHashSet<(ProcessId, u64)>,
    /// How often a runtime was seen to call them through which frames, by workers and others.
    /// Those of a worker are all that it has; of another thread they lead to the call of the
    /// runtime.
    through: FxHashMap<(ProcessId, bool), FxHashMap<Vec<StackEntry>, u32>>,
    joins: Joins,
}

impl DeepStacks {
    /// A thread's sample at a time has a stack that is deeper than its piece.
    pub fn add(&mut self, thread: ThreadId, time: Nanos, deep: Deep) {
        self.known.insert((thread, time), deep);
    }

    /// Completes the stacks of samples that are about to be written, and says of each that it
    /// changed what became of it.
    pub fn complete(
        &mut self,
        tables: &mut Tables,
        samples: &mut [Sample],
        mut changed: impl FnMut(&Sample, Completed),
    ) {
        if self.known.is_empty() {
            return;
        }
        for sample in &*samples {
            if let Some(&deep) = self.known.get(&(sample.thread, sample.time)) {
                self.learn(tables, sample.thread, deep);
            }
        }
        for sample in samples {
            let Some(deep) = self.known.remove(&(sample.thread, sample.time)) else {
                continue;
            };
            if let Some((whole, how)) = self.whole(tables, sample, deep)
                && whole != sample.stack
            {
                sample.stack = whole;
                changed(sample, how);
            }
        }
    }

    fn learn(&mut self, tables: &Tables, thread: ThreadId, deep: Deep) {
        let Some(callers) = deep.callers else { return };
        if deep.trust == Trust::Doubtful {
            return;
        }
        if self.callers.len() >= MOST {
            self.callers.clear();
        }
        self.callers.insert((thread, deep.place), callers);
        let entries = || tables.walk(callers);
        if !entries()
            .next()
            .is_some_and(|entry| is_runtime(tables, entry))
        {
            return;
        }
        let Some(row) = tables.threads.get(thread.index()) else {
            return;
        };
        let is_worker = row.kind == ThreadKind::Worker;
        let through = if is_worker {
            entries().collect()
        } else {
            entries()
                .take_while(|entry| is_runtime(tables, *entry))
                .collect()
        };
        self.called.insert((row.process, deep.place.function));
        let counts = self.through.entry((row.process, is_worker)).or_default();
        if counts.len() >= MOST {
            counts.clear();
        }
        *counts.entry(through).or_default() += 1;
    }

    fn whole(
        &mut self,
        tables: &mut Tables,
        sample: &Sample,
        deep: Deep,
    ) -> Option<(StackId, Completed)> {
        if deep.trust == Trust::Proven && deep.callers.is_some() {
            return None;
        }
        let tag = *tables.tags.get(sample.tag.0)?;
        let inner: Vec<StackEntry> = tables.walk(sample.stack).take(deep.inner).collect();
        let in_region = self.in_region(tables, (sample.thread, tag.context), deep, &inner);
        if deep.callers.is_some() {
            let whole = in_region
                .or_else(|| self.joins.whole(tables, sample.stack, tag.context))
                .or_else(|| match deep.trust {
                    Trust::Doubtful => self.remembered(tables, sample, deep, &inner),
                    _ => None,
                })?;
            return Some((whole, Completed::Mended));
        }
        if let Some(whole) = self.joins.whole(tables, sample.stack, tag.context) {
            return Some((whole, Completed::Joined));
        }
        let whole = in_region.or_else(|| self.remembered(tables, sample, deep, &inner))?;
        Some((whole, Completed::Remembered))
    }

    /// The stack that goes on as another of its thread in the same frame.
    fn remembered(
        &mut self,
        tables: &mut Tables,
        sample: &Sample,
        deep: Deep,
        inner: &[StackEntry],
    ) -> Option<StackId> {
        let callers = *self.callers.get(&(sample.thread, deep.place))?;
        let whole = with_callers(tables, inner, callers);
        let tag = *tables.tags.get(sample.tag.0)?;
        let mended = self.joins.whole(tables, whole, tag.context);
        Some(mended.unwrap_or(whole))
    }

    /// The stack of the code of an outermost region: called as the runtime calls all such code,
    /// under the region's fork point if its thread forked it.
    fn in_region(
        &self,
        tables: &mut Tables,
        (thread, context): (ThreadId, ContextId),
        deep: Deep,
        inner: &[StackEntry],
    ) -> Option<StackId> {
        let region = *tables.contexts.get(context.0)?;
        if region.kind != ContextKind::Region || region.parent != ContextId::ROOT {
            return None;
        }
        let row = tables.threads.get(thread.index())?;
        if !self.called.contains(&(row.process, deep.place.function)) {
            return None;
        }
        let is_worker = row.kind == ThreadKind::Worker;
        let seen = self.through.get(&(row.process, is_worker))?;
        // The slot of a function that has returned may have led elsewhere now and then.
        let (through, _) = seen
            .iter()
            .max_by_key(|(through, count)| (**count, std::cmp::Reverse(through.len())))?;
        let callers = if is_worker {
            StackId::EMPTY
        } else {
            region.stack
        };
        let callers = with_callers(tables, through, callers);
        Some(with_callers(tables, inner, callers))
    }
}

#[cfg(test)]
mod tests;
