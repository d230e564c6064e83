//! Stacks that differ by nothing but plain code at their inner ends, which is most of them: what
//! one of them tells of its thread all do.
//!
//! *Plain* is a frame that no question about a stack asks for: neither the runtime's nor a
//! construct's body, no combiner, no entry point, nothing of a library with a pool of threads. A
//! stack whose innermost frame is plain has the [`Leaf`] that its callers have,
//! if theirs is plain too; so have stacks that a kernel's frames were taken off.

use rustc_hash::FxHashSet;

use super::frames::Facts;
use super::segment::Split;
use super::walk::{Leaf, Role, Walk};
use super::{Moment, Rewriter, shown};
use crate::ids::{ContextId, FrameId, ModuleId, StackId};
use crate::profile::{Callee, PathId, Pseudo, Shown};
use crate::symbols::FunctionId;
use crate::tables::{ContextKind, StackEntry};

/// The run of each stack: stacks with one number are alike but for plain code, and begin with a
/// stack of that number.
pub(super) struct Runs {
    numbers: Vec<u32>,
    /// By number: whether its stacks end in plain code.
    is_plain: Vec<bool>,
}

impl Runs {
    pub(super) fn new(facts: &Facts<'_>) -> Runs {
        let functions = (0..).map(FunctionId).zip(&facts.symbols.functions);
        let of_pools = functions.filter(|&(id, _)| facts.pool(id).is_some());
        let pools = of_pools.map(|(_, function)| function.module).collect();
        let frames = facts.tables.frames.len() as u32;
        let plain: Vec<bool> = (0..frames)
            .map(|frame| facts.is_plain(FrameId(frame), &pools))
            .collect();
        let stacks = facts.tables.stacks.rows();
        let mut runs = Runs {
            numbers: Vec::with_capacity(stacks.len()),
            is_plain: Vec::new(),
        };
        for (at, row) in stacks.iter().enumerate() {
            // Callers stand before those they call; the empty stack is its own.
            let callers = runs.numbers.get(row.callers.index()).copied();
            let (is_plain, is_seen) = match row.entry {
                StackEntry::Frame(frame) => (
                    plain.get(frame.index()).copied().unwrap_or(false),
                    facts.role(frame).is_some(),
                ),
                StackEntry::Cut(_) => (false, true),
            };
            let same = callers.filter(|&callers| {
                let beside_plain = is_plain && runs.is_plain[callers as usize];
                at > 0 && (!is_seen || beside_plain)
            });
            runs.numbers.push(same.unwrap_or_else(|| {
                runs.is_plain.push(is_plain);
                runs.is_plain.len() as u32 - 1
            }));
        }
        runs
    }

    /// The number of a stack's run.
    pub(super) fn of(&self, stack: StackId) -> Option<u32> {
        self.numbers.get(stack.index()).copied()
    }

    /// How many there are.
    pub(super) fn count(&self) -> usize {
        self.is_plain.len()
    }

    /// Whether all stacks of a run lie alike in a construct that one of them was cut at: none of its
    /// code may be what calls the construct.
    pub(super) fn holds(
        &self,
        facts: &Facts<'_>,
        walk: &Walk,
        (context, split): (ContextId, &Split),
    ) -> bool {
        let run = walk.nodes.first().and_then(|node| self.of(node.stack));
        let row = facts.context(context);
        let in_task = facts.context(row.parent).kind == ContextKind::Task;
        let forks = facts.top(row.stack).map(|(_, callers)| callers);
        let calls = forks.is_some_and(|callers| self.of(callers) == run);
        !split.to_root && !in_task && !calls
    }
}

/// The last stack that was rewritten by itself, or by its run: others of the run have its path as
/// far as their frames are the same.
#[derive(Clone, Copy)]
pub(super) struct Known {
    moment: Moment,
    run: u32,
    shown: Shown,
    /// Its path, without a pseudo-function.
    path: PathId,
}

impl Rewriter<'_> {
    /// Notes the path of a moment, without a pseudo-function: it tells those of its run.
    pub(super) fn note(&mut self, moment: Moment, (path, shown): (PathId, Shown)) {
        let runs = self.facts.runs();
        let run = runs.of(moment.stack);
        let run = run.filter(|&run| runs.is_plain[run as usize]);
        self.known = run.map(|run| Known {
            moment,
            run,
            shown,
            path,
        });
    }

    /// What [`Rewriter::rewritten`] would make of a moment, if the last one was of its run.
    pub(super) fn along(&mut self, moment: Moment) -> Option<(PathId, Shown)> {
        let known = self.known?;
        let is_alike = (moment.tag, moment.thread) == (known.moment.tag, known.moment.thread);
        if !is_alike || self.facts.runs().of(moment.stack) != Some(known.run) {
            return None;
        }
        let is_spin = known.shown == Shown::Work && self.facts.spins_in(moment.stack)?;
        // Both lead to the first stack of the run at least. Callers have lower numbers.
        let (mut stack, mut other, mut path) = (moment.stack, known.moment.stack, known.path);
        let mut more = std::mem::take(&mut self.pending);
        more.clear();
        while stack != other {
            let at = stack.max(other);
            let row = self.facts.tables.stacks.get(at.0)?;
            let StackEntry::Frame(frame) = row.entry else {
                return None;
            };
            let is_seen = self.facts.role(frame) == Some(Role::Code);
            if at == stack {
                more.extend(is_seen.then_some(frame));
                stack = row.callers;
            } else {
                if is_seen {
                    path = self.paths.get(path.0)?.callers;
                }
                other = row.callers;
            }
        }
        for &frame in more.iter().rev() {
            path = self.push(path, self.callee(frame), frame);
        }
        self.pending = more;
        self.known = Some(Known {
            moment,
            path,
            ..known
        });
        let path = match is_spin {
            true => self.push(path, Callee::Pseudo(Pseudo::FlushSpin), FrameId::NONE),
            false => self.with_leaf(path, known.shown),
        };
        Some((path, known.shown))
    }
}

/// Whether a thread is in code of its own, which all stacks of a run tell alike.
pub(super) fn is_in_own_code(leaf: &Leaf, shown: Shown) -> bool {
    !leaf.runtime && leaf.pool.is_none() && !shown::is_wait(shown)
}

impl Facts<'_> {
    /// Whether a frame is plain. `pools` are the load objects with a pool of threads.
    fn is_plain(&self, frame: FrameId, pools: &FxHashSet<ModuleId>) -> bool {
        let asked_for = |f: FunctionId| self.construct(Some(f)).is_some() || self.is_entry_point(f);
        self.role(frame) == Some(Role::Code)
            && !self.function(frame).is_some_and(asked_for)
            && !self.inlines_combiner(frame)
            && !pools.contains(&self.module(frame))
    }

    /// As [`Facts::spins`], of a stack that ends in plain code: nothing if that is not the program's
    /// own.
    fn spins_in(&self, stack: StackId) -> Option<bool> {
        let mut entries = self.tables.walk(stack);
        let inner = entries.find_map(|entry| match entry {
            StackEntry::Frame(frame) => self.role(frame).map(|_| frame),
            StackEntry::Cut(_) => None,
        });
        let inner = inner.filter(|&frame| self.is_user(frame))?;
        Some(self.symbols.code_of(inner).is_some_and(|fact| fact.spins))
    }
}
