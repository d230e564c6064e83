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
mod pools;
mod refined;
mod segment;
mod shown;
#[cfg(test)]
mod tests;
mod trail;
mod walk;
#[cfg(test)]
pub(crate) mod world;

use std::sync::{Arc, OnceLock};

use rustc_hash::FxHashMap;

use crate::ids::{ContextId, FrameId, ModuleId, StackId, TagId};
use crate::profile::{Callee, DisplayFrame, Path, PathId, Pseudo, Shown};
use crate::state::State;
use crate::symbols::{FunctionId, SymbolTable};
use crate::tables::{Interner, StackEntry, Tables, Tag, ThreadKind};

use frames::Facts;
use naming::{Home, Naming};
use refined::Refined;
use segment::Body;
use shown::Clues;
use trail::Trail;
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

/// What the evidence of a whole recording told.
#[derive(Clone, Debug)]
pub(crate) struct Learnt(Arc<Naming>);

/// Makes display stacks, each distinct moment once.
pub struct Rewriter<'a> {
    facts: Facts<'a>,
    naming: Arc<Naming>,
    paths: Interner<Path>,
    user: FxHashMap<Moment, (PathId, Shown)>,
    machine: FxHashMap<StackId, PathId>,
    refined: OnceLock<Refined>,
    trail: Trail,
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
        let naming = Arc::new(Naming::learn(&facts, &evidence));
        Rewriter::with(facts, naming)
    }

    /// With what was learnt before from the same tables and symbols.
    pub(crate) fn learnt(tables: &'a Tables, symbols: &'a SymbolTable, learnt: &Learnt) -> Self {
        Rewriter::with(Facts::new(tables, symbols), Arc::clone(&learnt.0))
    }

    fn with(facts: Facts<'a>, naming: Arc<Naming>) -> Self {
        Rewriter {
            facts,
            naming,
            paths: root(),
            user: FxHashMap::default(),
            machine: FxHashMap::default(),
            refined: OnceLock::new(),
            trail: Trail::default(),
            sites: FxHashMap::default(),
            alike: FxHashMap::default(),
        }
    }

    /// What the evidence told.
    pub(crate) fn what_was_learnt(&self) -> Learnt {
        Learnt(Arc::clone(&self.naming))
    }

    /// Learns from evidence, in place of what was known, and begins anew: paths made before have
    /// no meaning any more. Returns of which tags a moment may be shown as something else now.
    pub(crate) fn relearn(&mut self, evidence: &[Moment]) -> impl Fn(TagId) -> bool + use<'a> {
        let before = Arc::clone(&self.naming);
        self.naming = Arc::new(Naming::learn(&self.facts, evidence));
        let now = Arc::clone(&self.naming);
        let tables = self.facts.tables;
        self.paths = root();
        self.user.clear();
        self.machine.clear();
        self.refined = OnceLock::new();
        self.trail = Trail::default();
        self.sites.clear();
        self.alike.clear();
        move |tag| {
            let place = tables
                .tags
                .get(tag.0)
                .map_or(FrameId::NONE, |tag| tag.place);
            before.combines(place) != now.combines(place)
        }
    }

    /// Gives back the memory that keeps what threads did.
    pub(crate) fn forget(&mut self) {
        self.refined = OnceLock::new();
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

    /// The same, of a moment that is asked for once.
    pub(crate) fn rewritten(&mut self, moment: Moment) -> (PathId, Shown) {
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
    ///
    /// Several threads may ask at a time.
    pub fn shown(&self, moment: Moment) -> Shown {
        let stacks = self.facts.tables.stacks.len();
        let refined = self.refined.get_or_init(|| Refined::new(stacks));
        refined.of(moment, || {
            let walk = Walk::new(&self.facts, moment.stack);
            self.refine(&walk, self.tag(moment.tag), moment.thread)
        })
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

    /// The user-mode path of a stack in a context, without a pseudo-function. `skewed` holds the
    /// place of a wait whose stack is a moment too early or too late.
    fn place(&mut self, walk: &Walk, context: ContextId, skewed: Option<FrameId>) -> PathId {
        if context == ContextId::ROOT {
            return self.plain(walk, skewed);
        }
        let split = segment::split(&self.facts, walk, context);
        let base = self.site(context, split.rest);
        let name = self.naming.of(context);
        let nameless = Callee::Construct(self.nameless(base, context));
        let (mut path, mut inner) = match split.body {
            // A function without a symbol is the body that most stacks say it is: this one, called
            // by the runtime within that, is a reduction's combiner, or another construct's body
            // that is about to be left or was just entered.
            Body::Frame(at) if self.is_another(walk.nodes[at].function, name) => {
                let callee = name.map_or(nameless, Callee::Function);
                let other = walk.nodes[at].function.and_then(|f| self.naming.home(f));
                let inner = match other {
                    Some(_) => split.segment.start,
                    None => at + 1,
                };
                (self.push(base, callee, FrameId::NONE), inner)
            }
            Body::Frame(at) => {
                let first = self.facts.first_part(walk, at);
                let own = walk.nodes[at].function.map(|f| self.facts.whole(f));
                let callee = own
                    .or(name)
                    .map_or(Callee::Construct(context), Callee::Function);
                (self.push(base, callee, walk.nodes[first].frame), first)
            }
            Body::Missing(frame) => {
                let callee = name.map_or(nameless, Callee::Function);
                (self.push(base, callee, frame), split.segment.end)
            }
        };
        let stop = match skewed {
            Some(place) => self.stop_at(walk, split.segment.start..inner, place),
            None => split.segment.start,
        };
        (path, inner) = self.trail.follow(&self.facts, walk, (path, inner), stop);
        while inner > stop {
            inner -= 1;
            if walk.nodes[inner].role != Role::Code {
                continue;
            }
            let first = self.facts.first_part(walk, inner).max(stop);
            path = self.push(
                path,
                self.callee(walk.nodes[inner].frame),
                walk.nodes[first].frame,
            );
            inner = first;
            self.trail.step(walk, inner, path);
        }
        path
    }

    /// Whether a function without a symbol is not the body by that name.
    fn is_another(&self, function: Option<FunctionId>, name: Option<FunctionId>) -> bool {
        function.is_some_and(|f| !self.facts.is_named(f) && name.is_some_and(|name| name != f))
    }

    /// The context that a construct without a name is shown as. On each thread of a team that
    /// meets a construct it has a context of its own, for their machine stacks differ.
    fn nameless(&mut self, site: PathId, context: ContextId) -> ContextId {
        let fork = self.facts.top(self.facts.context(context).stack);
        let address = fork.map_or(FrameId::NONE, |(frame, _)| frame);
        *self.alike.entry((site, address)).or_insert(context)
    }

    /// Leafward end of the frames that a wait at `place` may keep.
    fn stop_at(&self, walk: &Walk, range: std::ops::Range<usize>, place: FrameId) -> usize {
        if place == FrameId::NONE {
            return range.end;
        }
        range
            .clone()
            .find(|&i| self.facts.same_function(walk.nodes[i].frame, place))
            .unwrap_or(range.end)
    }

    /// The path that a context's own function is called from.
    ///
    /// `rest` is what lies outward on the sample's own stack; it stands in where the fork point's
    /// stack could not be taken (right on the thread that forked).
    fn site(&mut self, context: ContextId, rest: Option<StackId>) -> PathId {
        // Contexts can be nested thousands deep (tasks that create tasks): outermost first,
        // without recursion.
        let mut pending = vec![];
        let mut at = context;
        while at != ContextId::ROOT && !self.sites.contains_key(&at) {
            pending.push(at);
            at = self.facts.context(at).parent;
        }
        while let Some(at) = pending.pop() {
            let row = self.facts.context(at);
            let stack = if row.stack == StackId::EMPTY {
                if at == context
                    && let Some(rest) = rest
                {
                    let walk = Walk::new(&self.facts, rest);
                    let callers = self.place(&walk, row.parent, None);
                    return self.with_parent(callers, self.naming.of(at));
                }
                StackId::EMPTY
            } else {
                row.stack
            };
            let walk = Walk::new(&self.facts, stack);
            let callers = match (stack, row.parent) {
                (StackId::EMPTY, ContextId::ROOT) => PathId::EMPTY,
                _ => self.place(&walk, row.parent, None),
            };
            let path = self.with_parent(callers, self.naming.of(at));
            self.sites.insert(at, path);
        }
        self.sites.get(&context).copied().unwrap_or(PathId::EMPTY)
    }

    /// Puts back the function that holds the directive, if a tail call or inlining took it off.
    fn with_parent(&mut self, callers: PathId, outlined: Option<FunctionId>) -> PathId {
        let Some(outlined) = outlined else {
            return callers;
        };
        let callee = |path: PathId| match self.paths.get(path.0) {
            Some(row) if path != PathId::EMPTY => Some((row.frame.callee, row.callers)),
            _ => None,
        };
        let top = match callee(callers) {
            // The body of a nameless construct belongs to the function that holds its directive.
            Some((Callee::Construct(_), site)) => callee(site),
            top => top,
        };
        let top = top.map(|(callee, _)| callee);
        match self.facts.missing_parent(outlined, top) {
            Some(parent) => self.push(callers, parent, FrameId::NONE),
            None => callers,
        }
    }

    /// The path of a stack of which no context is known: serial code, threads without OpenMP, and
    /// stacks whose records were lost, where the stack alone must tell.
    fn plain(&mut self, walk: &Walk, skewed: Option<FrameId>) -> PathId {
        let nodes = &walk.nodes;
        let mut path = match walk.cut {
            Some(cut) => self.push(PathId::EMPTY, Callee::Cut(cut), FrameId::NONE),
            None => PathId::EMPTY,
        };
        let stop = match skewed {
            Some(place) if place != FrameId::NONE => (0..nodes.len())
                .find(|&i| self.facts.same_function(nodes[i].frame, place))
                .unwrap_or(0),
            _ => 0,
        };
        let mut started = false;
        let mut at = nodes.len();
        while at > stop {
            at -= 1;
            if nodes[at].role != Role::Code {
                continue;
            }
            let outlined = nodes[at].function.map(|f| self.facts.whole(f));
            let called_by_runtime = nodes.get(at + 1).is_some_and(|n| n.role == Role::Runtime);
            if called_by_runtime && let Some(outlined) = outlined {
                if !started && let Some(home) = self.naming.home(outlined) {
                    path = match home {
                        Home::Context(context) => self.site(context, None),
                        Home::Stack(stack) => {
                            let outer = Walk::new(&self.facts, stack);
                            self.plain(&outer, None)
                        }
                    };
                }
                path = self.with_parent(path, Some(outlined));
            }
            started = true;
            let first = self.facts.first_part(walk, at).max(stop);
            path = self.push(path, self.callee(nodes[at].frame), nodes[first].frame);
            at = first;
        }
        path
    }
}
