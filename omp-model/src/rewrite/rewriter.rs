//! Display stacks of samples, in both modes.

use experiment::ids::{ContextId, FrameId, StackId, TagId};
use experiment::state::State;
use experiment::symbols::SymbolTable;
use experiment::tables::{Interner, StackEntry, Tables, Tag, ThreadKind};
use rustc_hash::FxHashMap;

use crate::profile::{Callee, Path, PathId, Pseudo, Shown};

use super::frames::{Facts, Role};
use super::naming::Naming;
use super::placing::DisplayStacks;
use super::sampled::SampledStack;
use super::shown::{self, Clues};
use super::walk::Walk;

/// Makes display stacks, each distinct [`SampledStack`] once.
pub struct Rewriter<'a> {
    stacks: DisplayStacks<'a>,
    user: FxHashMap<SampledStack, (PathId, Shown)>,
    machine: FxHashMap<StackId, PathId>,
}

impl<'a> Rewriter<'a> {
    /// `evidence` is every distinct sampled stack of the experiment, from which the names of
    /// outlined functions are found. With fewer (or none), stacks are right but have fewer names.
    pub fn new(
        tables: &'a Tables,
        symbols: &'a SymbolTable,
        evidence: impl IntoIterator<Item = SampledStack>,
    ) -> Self {
        let facts = Facts::new(tables, symbols);
        let evidence: Vec<SampledStack> = evidence.into_iter().collect();
        let naming = Naming::learn(&facts, &evidence);
        Rewriter {
            stacks: DisplayStacks::new(facts, naming),
            user: FxHashMap::default(),
            machine: FxHashMap::default(),
        }
    }

    /// The display stacks made so far.
    pub fn paths(&self) -> &Interner<Path> {
        &self.stacks.paths
    }

    /// The display stacks, when all are made.
    pub fn into_paths(self) -> Interner<Path> {
        self.stacks.paths
    }

    /// The stack in user mode, and what the thread did.
    pub fn user(&mut self, sample: SampledStack) -> (PathId, Shown) {
        if let Some(&known) = self.user.get(&sample) {
            return known;
        }
        let rewritten = self.rewritten(sample);
        self.user.insert(sample, rewritten);
        rewritten
    }

    fn rewritten(&mut self, sample: SampledStack) -> (PathId, Shown) {
        let tag = self.tag(sample.tag);
        let mut walk = Walk::new(&self.stacks.facts, sample.stack);
        if sample.thread == ThreadKind::Initial {
            walk.keep_start();
        }
        let shown = self.refine(&walk, tag, sample.thread);
        let pool = walk.leaf.pool.filter(|_| shown == Shown::Idle);
        let path = if shown == Shown::Idle && pool.is_none_or(|pool| pool.own) {
            PathId::EMPTY
        } else {
            // The leaf is user code but the state is a wait: the clocks of samples and events
            // differ by a microsecond. The event gives the wait's call site.
            let skewed = shown::is_wait(shown) && !walk.leaf.runtime;
            let context = if tag.state == State::Unknown {
                ContextId::ROOT
            } else {
                tag.context
            };
            self.stacks
                .place(&walk, context, skewed.then_some(tag.place))
        };
        let special = match pool {
            Some(pool) => Some(pool.pseudo),
            None if shown == Shown::Work && walk.spins(&self.stacks.facts) => {
                Some(Pseudo::FlushSpin)
            }
            None => None,
        };
        let path = match special {
            Some(pseudo) => self
                .stacks
                .push(path, Callee::Pseudo(pseudo), FrameId::NONE),
            None => self.stacks.with_leaf(path, shown),
        };
        (path, shown)
    }

    /// The stack as measured, kernel frames included, and what the thread did.
    pub fn machine(&mut self, sample: SampledStack) -> (PathId, Shown) {
        (self.measured(sample.stack), self.shown(sample))
    }

    /// What the thread did: the recorded state refined by the stack. The same in both modes.
    pub fn shown(&self, sample: SampledStack) -> Shown {
        let walk = Walk::new(&self.stacks.facts, sample.stack);
        self.refine(&walk, self.tag(sample.tag), sample.thread)
    }

    /// What a thread did, by its recorded state alone.
    pub(crate) fn shown_by_state(&self, tag: TagId, thread: ThreadKind) -> Shown {
        self.refine(&Walk::default(), self.tag(tag), thread)
    }

    /// The path for time of a tag without samples: the construct itself and, if the event recorded
    /// it, the function that called the runtime.
    pub fn user_place(&mut self, tag: TagId, thread: ThreadKind) -> (PathId, Shown) {
        let tag = self.tag(tag);
        let shown = self.refine(&Walk::default(), tag, thread);
        if shown == Shown::Idle {
            return (self.stacks.with_leaf(PathId::EMPTY, shown), shown);
        }
        if tag.context == ContextId::ROOT && tag.place == FrameId::NONE {
            let unknown = Callee::Pseudo(Pseudo::Unknown);
            let path = self.stacks.push(PathId::EMPTY, unknown, FrameId::NONE);
            return (self.stacks.with_leaf(path, shown), shown);
        }
        let mut path = self.stacks.place(&Walk::default(), tag.context, None);
        // A join barrier's call site is the fork call, which is outside of the construct.
        let fork = self
            .stacks
            .facts
            .top(self.stacks.facts.context(tag.context).stack);
        let outside =
            fork.is_some_and(|(fork, _)| self.stacks.facts.same_function(fork, tag.place));
        if self.stacks.facts.role(tag.place) == Some(Role::Code) && !outside {
            let callee = self.stacks.callee(tag.place);
            let top = self.stacks.paths.get(path.0).map(|row| row.frame.callee);
            if path == PathId::EMPTY || top != Some(callee) {
                path = self.stacks.push(path, callee, tag.place);
            }
        }
        (self.stacks.with_leaf(path, shown), shown)
    }

    /// As [`Self::user_place`], in machine mode: the measured stack of the construct's fork point.
    pub fn machine_place(&mut self, tag: TagId, thread: ThreadKind) -> (PathId, Shown) {
        let tag = self.tag(tag);
        let shown = self.refine(&Walk::default(), tag, thread);
        let site = self.stacks.facts.context(tag.context).stack;
        if site == StackId::EMPTY {
            let unknown = Callee::Pseudo(Pseudo::Unknown);
            return (
                self.stacks.push(PathId::EMPTY, unknown, FrameId::NONE),
                shown,
            );
        }
        (self.measured(site), shown)
    }

    fn tag(&self, tag: TagId) -> Tag {
        let tags = &self.stacks.facts.tables.tags;
        let tag = *tags.get(tag.0).unwrap_or(&tags.rows()[0]);
        Tag {
            state: self.stacks.facts.symbols.state_of(tag),
            context: self.stacks.facts.real_context(tag.context),
            ..tag
        }
    }

    fn refine(&self, walk: &Walk, tag: Tag, thread: ThreadKind) -> Shown {
        let entry = walk.entry(&self.stacks.facts);
        let clues = Clues {
            eventful: self.stacks.naming.eventful,
            combining: self.stacks.naming.combines(tag.place),
        };
        shown::refine(tag.state, thread, &walk.leaf, entry, clues)
    }

    /// Machine mode: every entry of the stack.
    fn measured(&mut self, stack: StackId) -> PathId {
        let mut pending = Vec::new();
        let mut at = stack;
        let mut path = PathId::EMPTY;
        while at != StackId::EMPTY {
            if let Some(&known) = self.machine.get(&at) {
                path = known;
                break;
            }
            let Some(node) = self.stacks.facts.tables.stacks.get(at.0) else {
                break;
            };
            pending.push((at, node.entry));
            at = node.callers;
        }
        for (at, entry) in pending.into_iter().rev() {
            path = match entry {
                StackEntry::Cut(cut) => self.stacks.push(path, Callee::Cut(cut), FrameId::NONE),
                StackEntry::Frame(frame) => {
                    let callee = match self.stacks.facts.function(frame) {
                        Some(function) => Callee::Function(function),
                        None => self.stacks.symbolless(frame),
                    };
                    self.stacks.push(path, callee, frame)
                }
            };
            self.machine.insert(at, path);
        }
        path
    }
}
