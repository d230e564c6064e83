//! Completes truncated stacks from other stacks of their thread.
//!
//! A truncated stack whose outer frames could be read from memory ([`crate::truncated`]) tells the
//! callers of its outermost copied frame, and through which frames a runtime calls the code of
//! regions. Other stacks of the thread that were cut in the same frame get the same callers. A calling
//! context ([`crate::contexts`]) tells the callers of its large frames, in which stacks are cut. A stack
//! in a region ends like the stack of the region's fork point ([`crate::fork_points`]).

use experiment::ids::{ContextId, Nanos, ProcessId, StackId, ThreadId};
use experiment::rows::Sample;
use experiment::tables::{ContextKind, StackEntry, Tables, ThreadKind};
use rustc_hash::{FxHashMap, FxHashSet};

use crate::fork_points::{ForkPoints, is_runtime, with_callers};
use crate::truncated::{Activation, Edge, Trust};

/// Most callers that are kept. If there are more, all are dropped.
const MOST: usize = 1 << 16;

/// A stack that is deeper than the copied piece.
#[derive(Clone, Copy, Debug)]
pub struct Truncated {
    /// The number of its entries in the piece, kernel frames included.
    pub inner: usize,
    /// The outermost frame in the piece.
    pub activation: Activation,
    /// Its callers, if they could be read.
    pub callers: Option<StackId>,
    /// How certain it is that they are the callers.
    pub trust: Trust,
}

impl Truncated {
    /// A stack whose outermost copied frame is `edge`; `None` if that frame cannot be identified.
    pub fn at(edge: Edge) -> Option<Truncated> {
        Some(Truncated {
            inner: edge.inner,
            activation: edge.activation?,
            callers: None,
            trust: edge.trust,
        })
    }
}

/// How the stack of a sample was changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Completed {
    /// It was truncated, and ends like its region's fork point.
    ByForkPoint,
    /// It was truncated, and ends like another stack of its thread.
    BySample,
    /// Its outer frames had been read from memory, and others are more certain.
    Corrected,
}

/// Truncated stacks of samples that are not yet written, and the callers of earlier ones.
#[derive(Default)]
pub struct Completion {
    /// By thread and time.
    waiting: FxHashMap<(ThreadId, Nanos), Truncated>,
    callers: FxHashMap<(ThreadId, Activation), StackId>,
    /// The callers that large frames had in calling contexts, by time.
    at_contexts: FxHashMap<(ThreadId, Activation), Vec<(Nanos, StackId)>>,
    /// The start addresses of functions that a runtime called.
    called: FxHashSet<(ProcessId, u64)>,
    /// The frames through which a runtime called them, with counts, by process and by whether the
    /// thread is a worker. A worker's are the whole rest of its stack. Another thread's end at the
    /// program's call into the runtime.
    through: FxHashMap<(ProcessId, bool), FxHashMap<Vec<StackEntry>, u32>>,
    fork_points: ForkPoints,
}

impl Completion {
    /// Notes that the sample of a thread at a time is truncated.
    pub fn add(&mut self, thread: ThreadId, time: Nanos, truncated: Truncated) {
        self.waiting.insert((thread, time), truncated);
    }

    /// Completes the stacks of samples that are about to be written. Calls `changed` for each sample
    /// whose stack changed.
    pub fn complete(
        &mut self,
        tables: &mut Tables,
        samples: &mut [Sample],
        mut changed: impl FnMut(&Sample, Completed),
    ) {
        if !self.waiting.is_empty() {
            for sample in &*samples {
                if let Some(&truncated) = self.waiting.get(&(sample.thread, sample.time)) {
                    self.learn(tables, sample.thread, truncated);
                }
            }
            for sample in samples {
                let Some(truncated) = self.waiting.remove(&(sample.thread, sample.time)) else {
                    continue;
                };
                if let Some((whole, how)) = self.whole(tables, sample, truncated)
                    && whole != sample.stack
                {
                    sample.stack = whole;
                    changed(sample, how);
                }
            }
        }
        for known in self.at_contexts.values_mut() {
            known.drain(..known.len() - 1);
        }
    }

    /// Notes the callers that a function on a thread's stack has at a time, by a calling context.
    pub fn at_context(
        &mut self,
        (thread, time): (ThreadId, Nanos),
        activation: Activation,
        callers: StackId,
    ) {
        if self.at_contexts.len() >= MOST {
            self.at_contexts.clear();
        }
        let known = self.at_contexts.entry((thread, activation)).or_default();
        if known.len() >= MOST {
            known.clear();
        }
        // Of equal ones in a row the first and the last are enough.
        if let [.., (_, one), (last, other)] = known.as_mut_slice()
            && *one == callers
            && *other == callers
        {
            *last = time;
        } else {
            known.push((time, callers));
        }
    }

    /// The callers in the calling context that is nearest to a sample. `None` if it has callers that no
    /// context has: then the function does not fork each time that it is called.
    fn nearest_context(&self, sample: &Sample, truncated: Truncated) -> Option<StackId> {
        let known = self
            .at_contexts
            .get(&(sample.thread, truncated.activation))?;
        let is_known = |read: StackId| known.iter().any(|(_, callers)| *callers == read);
        if !truncated.callers.is_none_or(is_known) {
            return None;
        }
        let after = known.partition_point(|(time, _)| *time < sample.time);
        let beside = known.get(after.saturating_sub(1)..)?.iter().take(2);
        let nearest = beside.min_by_key(|(time, _)| time.0.abs_diff(sample.time.0));
        nearest.map(|(_, callers)| *callers)
    }

    fn learn(&mut self, tables: &Tables, thread: ThreadId, truncated: Truncated) {
        let Some(callers) = truncated.callers else {
            return;
        };
        if truncated.trust == Trust::Doubtful {
            return;
        }
        if self.callers.len() >= MOST {
            self.callers.clear();
        }
        self.callers.insert((thread, truncated.activation), callers);
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
        self.called
            .insert((row.process, truncated.activation.function));
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
        truncated: Truncated,
    ) -> Option<(StackId, Completed)> {
        let thread_state = *tables.thread_states.get(sample.thread_state.0)?;
        let inner: Vec<StackEntry> = tables.walk(sample.stack).take(truncated.inner).collect();
        // Before those that were read a moment later: the function may have had another caller then.
        if thread_state.context == ContextId::ROOT
            && let Some(callers) = self.nearest_context(sample, truncated)
        {
            let how = match truncated.callers {
                Some(_) => Completed::Corrected,
                None => Completed::BySample,
            };
            return Some((with_callers(tables, &inner, callers), how));
        }
        if truncated.trust == Trust::Proven && truncated.callers.is_some() {
            return None;
        }
        let in_region = self.in_region(
            tables,
            (sample.thread, thread_state.context),
            truncated,
            &inner,
        );
        if truncated.callers.is_some() {
            let whole = in_region
                .or_else(|| {
                    self.fork_points
                        .whole(tables, sample.stack, thread_state.context)
                })
                .or_else(|| match truncated.trust {
                    Trust::Doubtful => self.as_another_sample(tables, sample, truncated, &inner),
                    _ => None,
                })?;
            return Some((whole, Completed::Corrected));
        }
        if let Some(whole) = self
            .fork_points
            .whole(tables, sample.stack, thread_state.context)
        {
            return Some((whole, Completed::ByForkPoint));
        }
        let whole =
            in_region.or_else(|| self.as_another_sample(tables, sample, truncated, &inner))?;
        Some((whole, Completed::BySample))
    }

    /// The stack with the callers that another sample of its thread had in the same frame.
    fn as_another_sample(
        &mut self,
        tables: &mut Tables,
        sample: &Sample,
        truncated: Truncated,
        inner: &[StackEntry],
    ) -> Option<StackId> {
        let callers = *self.callers.get(&(sample.thread, truncated.activation))?;
        let whole = with_callers(tables, inner, callers);
        let thread_state = *tables.thread_states.get(sample.thread_state.0)?;
        let mended = self.fork_points.whole(tables, whole, thread_state.context);
        Some(mended.unwrap_or(whole))
    }

    /// The stack of the code of an outermost region: called through the frames by which the runtime
    /// calls such code most often, under the region's fork point on the thread that forked it.
    fn in_region(
        &self,
        tables: &mut Tables,
        (thread, context): (ThreadId, ContextId),
        truncated: Truncated,
        inner: &[StackEntry],
    ) -> Option<StackId> {
        let region = *tables.contexts.get(context.0)?;
        if region.kind != ContextKind::Region || region.parent != ContextId::ROOT {
            return None;
        }
        let row = tables.threads.get(thread.index())?;
        if !self
            .called
            .contains(&(row.process, truncated.activation.function))
        {
            return None;
        }
        let is_worker = row.kind == ThreadKind::Worker;
        let seen = self.through.get(&(row.process, is_worker))?;
        // Some were read from a slot of a function that had returned. The most frequent is right.
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
