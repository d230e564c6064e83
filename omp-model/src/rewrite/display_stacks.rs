//! Builds user stacks: the frames within the construct under the call path to it or, without a
//! known construct, the frames of the stack alone.

use experiment::ids::{ContextId, FrameId, ModuleId, StackId};
use experiment::symbols::FunctionId;
use experiment::tables::Interner;
use rustc_hash::FxHashMap;

use super::frames::{Facts, Role};
use super::naming::{Home, Naming};
use super::refined;
use super::segment::{self, Body};
use super::walk::Walk;
use crate::profile::{Callee, DisplayFrame, Path, PathId, Pseudo, RefinedState};

/// The display stacks made so far, with the tables that they are made from.
pub(super) struct DisplayStacks<'a> {
    pub(super) facts: Facts<'a>,
    pub(super) naming: Naming,
    pub(super) paths: Interner<Path>,
    /// Bodies whose callers are being resolved: guards against recursion.
    resolving: Vec<FunctionId>,
    sites: FxHashMap<ContextId, PathId>,
    /// For constructs without a name: the context that represents all those with one call site.
    representatives: FxHashMap<(PathId, FrameId), ContextId>,
}

impl<'a> DisplayStacks<'a> {
    /// A tree with only the root, [`PathId::EMPTY`].
    pub(super) fn new(facts: Facts<'a>, naming: Naming) -> Self {
        let root = Path {
            callers: PathId::EMPTY,
            frame: DisplayFrame {
                callee: Callee::Static(ModuleId::NONE, 0),
                frame: FrameId::NONE,
            },
        };
        DisplayStacks {
            facts,
            naming,
            paths: Interner::with([root]),
            resolving: Vec::new(),
            sites: FxHashMap::default(),
            representatives: FxHashMap::default(),
        }
    }
}

impl DisplayStacks<'_> {
    pub(super) fn push(&mut self, callers: PathId, callee: Callee, frame: FrameId) -> PathId {
        PathId(self.paths.intern(Path {
            callers,
            frame: DisplayFrame { callee, frame },
        }))
    }

    pub(super) fn with_leaf(&mut self, path: PathId, state: RefinedState) -> PathId {
        match refined::pseudo(state) {
            Some(pseudo) => self.push(path, Callee::Pseudo(pseudo), FrameId::NONE),
            None => path,
        }
    }

    /// The callee of a frame: its function; for a part of an outlined function, the whole function.
    pub(super) fn callee(&self, frame: FrameId) -> Callee {
        match self.facts.function(frame) {
            Some(function) => Callee::Function(self.facts.whole(function)),
            None => self.symbolless(frame),
        }
    }

    pub(super) fn symbolless(&self, frame: FrameId) -> Callee {
        match self.facts.tables.frames.get(frame.0) {
            Some(frame) => Callee::Static(frame.module, frame.address),
            None => Callee::Pseudo(Pseudo::Unknown),
        }
    }

    /// The user-mode path of a stack in a context, without a pseudo-function. `skewed` is the call
    /// site of a wait whose stack was sampled slightly too early or too late.
    pub(super) fn user_path(
        &mut self,
        walk: &Walk,
        context: ContextId,
        skewed: Option<FrameId>,
    ) -> PathId {
        if context == ContextId::ROOT {
            return self.plain(walk, skewed);
        }
        let split = segment::split(&self.facts, walk, context);
        let base = self.site(context, split.rest);
        let name = self.naming.of(context);
        let nameless = Callee::Construct(self.nameless(base, context));
        let (mut path, mut inner) = match split.body {
            // The votes of all stacks name another body: this function without a symbol, called by
            // the runtime within that body, is a reduction's combiner, or the body of another
            // construct that is about to be left or was just entered.
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
                let first = walk.first_part(&self.facts, at);
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
            Some(call) => self.stop_at(walk, split.segment.start..inner, call),
            None => split.segment.start,
        };
        while inner > stop {
            inner -= 1;
            if walk.nodes[inner].role != Role::Code {
                continue;
            }
            let first = walk.first_part(&self.facts, inner).max(stop);
            path = self.push(
                path,
                self.callee(walk.nodes[inner].frame),
                walk.nodes[first].frame,
            );
            inner = first;
        }
        path
    }

    /// Whether a function without a symbol is not the body `name`.
    fn is_another(&self, function: Option<FunctionId>, name: Option<FunctionId>) -> bool {
        function.is_some_and(|f| !self.facts.is_named(f) && name.is_some_and(|name| name != f))
    }

    /// The context that represents a construct without a name. Each thread of a team that
    /// encounters a construct has its own context, because their machine stacks differ.
    fn nameless(&mut self, site: PathId, context: ContextId) -> ContextId {
        let fork = self.facts.top(self.facts.context(context).stack);
        let address = fork.map_or(FrameId::NONE, |(frame, _)| frame);
        *self
            .representatives
            .entry((site, address))
            .or_insert(context)
    }

    /// The inner end of the frames that a wait at `call` may keep.
    fn stop_at(&self, walk: &Walk, range: std::ops::Range<usize>, call: FrameId) -> usize {
        if call == FrameId::NONE {
            return range.end;
        }
        range
            .clone()
            .find(|&i| self.facts.same_function(walk.nodes[i].frame, call))
            .unwrap_or(range.end)
    }

    /// The path that a context's own function is called from.
    ///
    /// `rest` is the outer part of the sample's own stack. It replaces a fork point's stack that
    /// could not be recorded, and is right on the thread that forked.
    fn site(&mut self, context: ContextId, rest: Option<StackId>) -> PathId {
        // Contexts can be nested thousands deep (tasks that create tasks): resolve the outermost
        // first, without recursion.
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
                    let callers = self.user_path(&walk, row.parent, None);
                    return self.with_parent(callers, self.naming.of(at));
                }
                StackId::EMPTY
            } else {
                row.stack
            };
            let walk = Walk::new(&self.facts, stack);
            let callers = match (stack, row.parent) {
                (StackId::EMPTY, ContextId::ROOT) => PathId::EMPTY,
                _ => self.user_path(&walk, row.parent, None),
            };
            let path = self.with_parent(callers, self.naming.of(at));
            self.sites.insert(at, path);
        }
        self.sites.get(&context).copied().unwrap_or(PathId::EMPTY)
    }

    /// Restores the function that holds the directive, if a tail call or inlining removed it.
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

    /// The path of a stack without a known context: serial code, threads without OpenMP, and stacks
    /// whose records were lost.
    fn plain(&mut self, walk: &Walk, skewed: Option<FrameId>) -> PathId {
        let nodes = &walk.nodes;
        let mut path = match walk.cut {
            Some(cut) => self.push(PathId::EMPTY, Callee::Cut(cut), FrameId::NONE),
            None => PathId::EMPTY,
        };
        let stop = match skewed {
            Some(call) if call != FrameId::NONE => (0..nodes.len())
                .find(|&i| self.facts.same_function(nodes[i].frame, call))
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
                // If records were lost, a body that forks itself can be among its own callers.
                if !started
                    && !self.resolving.contains(&outlined)
                    && let Some(home) = self.naming.home(outlined)
                {
                    self.resolving.push(outlined);
                    path = match home {
                        Home::Context(context) => self.site(context, None),
                        Home::Stack(stack) => {
                            let outer = Walk::new(&self.facts, stack);
                            self.plain(&outer, None)
                        }
                    };
                    self.resolving.pop();
                }
                path = self.with_parent(path, Some(outlined));
            }
            started = true;
            let first = walk.first_part(&self.facts, at).max(stop);
            path = self.push(path, self.callee(nodes[at].frame), nodes[first].frame);
            at = first;
        }
        path
    }
}
