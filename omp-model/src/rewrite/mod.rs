//! From measured stacks to display stacks: as their author wrote them, or as measured.
//!
//! A pure function of (machine stack, recorded tag, kind of thread), given the recording's tables
//! and symbols. It never needs the thread's other samples, with one exception: an outlined
//! function that no symbol ties to its directive is learnt from the stacks of the recording, so
//! that one region has one name in all rows ([`Rewriter::new`] takes them as evidence).
//!
//! How a stack in user mode comes about: [`segment`] cuts the user's frames of the innermost
//! construct out of the machine stack; the construct's calling context, taken once at its fork
//! point, supplies everything outward of it, on every thread alike. So primary, workers and
//! threads of nested teams have the same callers by construction.

pub mod constructs;
mod frames;
mod functions;
mod naming;
mod placing;
mod pools;
mod segment;
mod shown;
#[cfg(test)]
mod tests;
mod walk;
#[cfg(test)]
pub(crate) mod world;

use rustc_hash::FxHashMap;

use crate::ids::{ContextId, FrameId, ModuleId, StackId, TagId};
use crate::profile::{Callee, DisplayFrame, Path, PathId, Pseudo, Shown};
use crate::state::State;
use crate::symbols::{FunctionId, SymbolTable};
use crate::tables::{Interner, StackEntry, Tables, Tag, ThreadKind};

use frames::Facts;
use naming::Naming;
use shown::Clues;
use walk::{Role, Walk};

/// A measured stack with what was known of its thread at that moment.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Moment {
    /// The machine stack.
    pub stack: StackId,
    /// The recorded state, context and place.
    pub tag: TagId,
    /// What the thread is to OpenMP.
    pub thread: ThreadKind,
}

/// Makes display stacks, each distinct moment once.
pub struct Rewriter<'a> {
    facts: Facts<'a>,
    naming: Naming,
    paths: Interner<Path>,
    user: FxHashMap<Moment, (PathId, Shown)>,
    machine: FxHashMap<StackId, PathId>,
    /// Bodies whose homes are being placed.
    sought: Vec<FunctionId>,
    sites: FxHashMap<ContextId, PathId>,
    /// Of constructs without a name, the one that stands for all that are called from one place.
    alike: FxHashMap<(PathId, FrameId), ContextId>,
}

/// The display tree with nothing but its root, [`PathId::EMPTY`].
fn root() -> Interner<Path> {
    Interner::with([Path {
        callers: PathId::EMPTY,
        frame: DisplayFrame {
            callee: Callee::Static(ModuleId::NONE, 0),
            frame: FrameId::NONE,
        },
    }])
}

impl<'a> Rewriter<'a> {
    /// `evidence` is every distinct moment of the recording, from which the names of outlined
    /// functions are learnt. Fewer (or none) give right stacks with fewer names.
    pub fn new(
        tables: &'a Tables,
        symbols: &'a SymbolTable,
        evidence: impl IntoIterator<Item = Moment>,
    ) -> Self {
        let facts = Facts::new(tables, symbols);
        let evidence: Vec<Moment> = evidence.into_iter().collect();
        let naming = Naming::learn(&facts, &evidence);
        Rewriter {
            facts,
            naming,
            paths: root(),
            user: FxHashMap::default(),
            machine: FxHashMap::default(),
            sought: Vec::new(),
            sites: FxHashMap::default(),
            alike: FxHashMap::default(),
        }
    }

    /// The display stacks made so far.
    pub fn paths(&self) -> &Interner<Path> {
        &self.paths
    }

    /// The display stacks, when all are made.
    pub fn into_paths(self) -> Interner<Path> {
        self.paths
    }

    /// The stack in user mode, and what the thread did.
    pub fn user(&mut self, moment: Moment) -> (PathId, Shown) {
        if let Some(&known) = self.user.get(&moment) {
            return known;
        }
        let rewritten = self.rewritten(moment);
        self.user.insert(moment, rewritten);
        rewritten
    }

    fn rewritten(&mut self, moment: Moment) -> (PathId, Shown) {
        let tag = self.tag(moment.tag);
        let mut walk = Walk::new(&self.facts, moment.stack);
        if moment.thread == ThreadKind::Initial {
            walk.keep_start();
        }
        let shown = self.refine(&walk, tag, moment.thread);
        let pool = walk.leaf.pool.filter(|_| shown == Shown::Idle);
        let path = if shown == Shown::Idle && pool.is_none_or(|pool| pool.own) {
            PathId::EMPTY
        } else {
            // A stack whose leaf is user code, in a wait: the clocks of samples and events differ
            // by a microsecond. The wait's place is the event's.
            let skewed = shown::is_wait(shown) && !walk.leaf.runtime;
            let context = if tag.state == State::Unknown {
                ContextId::ROOT
            } else {
                tag.context
            };
            self.place(&walk, context, skewed.then_some(tag.place))
        };
        let special = match pool {
            Some(pool) => Some(pool.pseudo),
            None if shown == Shown::Work && self.facts.spins(&walk) => Some(Pseudo::FlushSpin),
            None => None,
        };
        let path = match special {
            Some(pseudo) => self.push(path, Callee::Pseudo(pseudo), FrameId::NONE),
            None => self.with_leaf(path, shown),
        };
        (path, shown)
    }

    /// The stack as measured, kernel frames included, and what the thread did.
    pub fn machine(&mut self, moment: Moment) -> (PathId, Shown) {
        (self.measured(moment.stack), self.shown(moment))
    }

    /// What the thread did: the recorded state refined by the stack. The same in both modes.
    pub fn shown(&self, moment: Moment) -> Shown {
        let walk = Walk::new(&self.facts, moment.stack);
        self.refine(&walk, self.tag(moment.tag), moment.thread)
    }

    /// What a thread did of which nothing but its recorded state is known.
    pub(crate) fn shown_by_state(&self, tag: TagId, thread: ThreadKind) -> Shown {
        self.refine(&Walk::default(), self.tag(tag), thread)
    }

    /// Where time of a tag stands that no sample tells more of: at the construct itself, and in
    /// the function that called the runtime if the event said which.
    pub fn user_place(&mut self, tag: TagId, thread: ThreadKind) -> (PathId, Shown) {
        let tag = self.tag(tag);
        let shown = self.refine(&Walk::default(), tag, thread);
        if shown == Shown::Idle {
            return (self.with_leaf(PathId::EMPTY, shown), shown);
        }
        if tag.context == ContextId::ROOT && tag.place == FrameId::NONE {
            let unknown = Callee::Pseudo(Pseudo::Unknown);
            let path = self.push(PathId::EMPTY, unknown, FrameId::NONE);
            return (self.with_leaf(path, shown), shown);
        }
        let mut path = self.place(&Walk::default(), tag.context, None);
        // A join barrier's place is the fork call, which stands outside of the construct.
        let fork = self.facts.top(self.facts.context(tag.context).stack);
        let outside = fork.is_some_and(|(fork, _)| self.facts.same_function(fork, tag.place));
        if self.facts.role(tag.place) == Some(Role::Code) && !outside {
            let callee = self.callee(tag.place);
            let top = self.paths.get(path.0).map(|row| row.frame.callee);
            if path == PathId::EMPTY || top != Some(callee) {
                path = self.push(path, callee, tag.place);
            }
        }
        (self.with_leaf(path, shown), shown)
    }

    /// As [`Self::user_place`], in machine mode: the measured stack of the construct's fork point.
    pub fn machine_place(&mut self, tag: TagId, thread: ThreadKind) -> (PathId, Shown) {
        let tag = self.tag(tag);
        let shown = self.refine(&Walk::default(), tag, thread);
        let site = self.facts.context(tag.context).stack;
        if site == StackId::EMPTY {
            let unknown = Callee::Pseudo(Pseudo::Unknown);
            return (self.push(PathId::EMPTY, unknown, FrameId::NONE), shown);
        }
        (self.measured(site), shown)
    }

    fn tag(&self, tag: TagId) -> Tag {
        let tags = &self.facts.tables.tags;
        let tag = *tags.get(tag.0).unwrap_or(&tags.rows()[0]);
        Tag {
            state: self.facts.symbols.state_of(tag),
            context: self.facts.real_context(tag.context),
            ..tag
        }
    }

    fn refine(&self, walk: &Walk, tag: Tag, thread: ThreadKind) -> Shown {
        let entry = self.facts.entry(&walk.leaf);
        let clues = Clues {
            eventful: self.naming.eventful,
            combining: self.naming.combines(tag.place),
        };
        shown::refine(tag.state, thread, &walk.leaf, entry, clues)
    }

    fn push(&mut self, callers: PathId, callee: Callee, frame: FrameId) -> PathId {
        PathId(self.paths.intern(Path {
            callers,
            frame: DisplayFrame { callee, frame },
        }))
    }

    fn with_leaf(&mut self, path: PathId, shown: Shown) -> PathId {
        match shown::pseudo(shown) {
            Some(pseudo) => self.push(path, Callee::Pseudo(pseudo), FrameId::NONE),
            None => path,
        }
    }

    /// A frame by its own symbol, parts of one outlined function by the whole one's.
    fn callee(&self, frame: FrameId) -> Callee {
        match self.facts.function(frame) {
            Some(function) => Callee::Function(self.facts.whole(function)),
            None => self.symbolless(frame),
        }
    }

    fn symbolless(&self, frame: FrameId) -> Callee {
        match self.facts.tables.frames.get(frame.0) {
            Some(frame) => Callee::Static(frame.module, frame.address),
            None => Callee::Pseudo(Pseudo::Unknown),
        }
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
            let Some(node) = self.facts.tables.stacks.get(at.0) else {
                break;
            };
            pending.push((at, node.entry));
            at = node.callers;
        }
        for (at, entry) in pending.into_iter().rev() {
            path = match entry {
                StackEntry::Cut(cut) => self.push(path, Callee::Cut(cut), FrameId::NONE),
                StackEntry::Frame(frame) => {
                    let callee = match self.facts.function(frame) {
                        Some(function) => Callee::Function(function),
                        None => self.symbolless(frame),
                    };
                    self.push(path, callee, frame)
                }
            };
            self.machine.insert(at, path);
        }
        path
    }
}
