//! Builds user stacks: the frames within the construct under the call path to it or, without a
//! known construct, the frames of the stack alone.

use std::ops::Range;

use experiment::ids::{ContextId, FrameId, ModuleId, StackId};
use experiment::symbols::FunctionId;
use experiment::tables::{Cut, Interner};
use rustc_hash::FxHashMap;

use super::frames::{Facts, Role};
use super::naming::{Home, Naming};
use super::segment::{self, Body};
use super::walk::Walk;
use crate::profile::{Callee, DisplayFrame, FrameKind, Path, PathId};
use crate::states::{Pseudo, RefinedState};

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
                kind: FrameKind::Called,
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

/// The frames of a stack that are inside a construct.
#[derive(Clone, Copy)]
struct Inside<'w> {
    walk: &'w Walk,
    /// Jumps are those inward of this node: outward of it, they are the construct's site's.
    outermost: usize,
    /// The body, if it left the stack by a jump to what is outermost; else [`FrameId::NONE`].
    jumped: FrameId,
}

impl DisplayStacks<'_> {
    pub(super) fn push(&mut self, callers: PathId, callee: Callee, frame: FrameId) -> PathId {
        PathId(self.paths.intern(Path {
            callers,
            frame: DisplayFrame {
                callee,
                frame,
                kind: FrameKind::Called,
            },
        }))
    }

    pub(super) fn with_leaf(&mut self, path: PathId, state: RefinedState) -> PathId {
        match Pseudo::of(state) {
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

    /// The user-mode path of a stack in a context, without a pseudo-function. `wait` is the call
    /// that the thread waits in, which ends the path; [`FrameId::NONE`] if that is not known and the
    /// stack was sampled slightly too early or too late.
    pub(super) fn user_path(
        &mut self,
        walk: &Walk,
        context: ContextId,
        wait: Option<FrameId>,
    ) -> PathId {
        if context == ContextId::ROOT {
            return self.plain(walk, wait);
        }
        let split = segment::split(&self.facts, walk, context);
        let base = self.site(context, split.rest);
        let name = self.naming.of(context);
        let nameless = Callee::Construct(self.nameless(base, context));
        let (callee, address, inner) = match split.body {
            // The votes of all stacks name another body: this function without a symbol, called by
            // the runtime within that body, is a reduction's combiner, or the body of another
            // construct that is about to be left or was just entered.
            // So is one around the construct: the stack is of a moment before the construct was entered.
            Body::Frame(at)
                if self.is_another(walk.nodes[at].function, name)
                    || self.is_around(walk.nodes[at].function, name, context) =>
            {
                let callee = name.map_or(nameless, Callee::Function);
                let other = walk.nodes[at].function.and_then(|f| self.naming.home(f));
                let inner = match other {
                    Some(_) => split.segment.start,
                    None => at + 1,
                };
                (callee, FrameId::NONE, inner)
            }
            // The lines of shared code are those of another directive.
            Body::Frame(at) if self.is_folded(name, walk.nodes[at].function) => {
                let callee = name.map_or(nameless, Callee::Function);
                (callee, FrameId::NONE, walk.first_part(&self.facts, at))
            }
            Body::Frame(at) => {
                let first = walk.first_part(&self.facts, at);
                let own = walk.nodes[at].function.map(|f| self.facts.whole(f));
                let callee = own
                    .or(name)
                    .map_or(Callee::Construct(context), Callee::Function);
                (callee, walk.nodes[first].frame, first)
            }
            Body::Missing(frame) => {
                let callee = name.map_or(nameless, Callee::Function);
                (callee, frame, split.segment.end)
            }
        };
        let frames = split.segment.start..inner;
        let sampled = match split.body {
            Body::Frame(_) => address,
            Body::Missing(_) => FrameId::NONE,
        };
        // The construct's own site has what was called outward of it.
        let outermost = match split.body {
            Body::Frame(_) => inner,
            Body::Missing(_) => inner.saturating_sub(1),
        };
        let jumped = match split.body {
            Body::Frame(_) => FrameId::NONE,
            Body::Missing(_) => self.facts.context(context).body,
        };
        let inside = Inside {
            walk,
            outermost,
            jumped,
        };
        let Some(call) = wait else {
            let path = self.push(base, callee, address);
            let path = self.with_targets(path, sampled);
            return self.with_frames(path, inside, frames, None);
        };
        if let Some(at) = self.holder(walk, frames.clone(), call) {
            let path = self.push(base, callee, address);
            let path = self.with_targets(path, sampled);
            return self.with_frames(path, inside, at..inner, Some(call));
        }
        if call != FrameId::NONE && self.is_folded(name, self.facts.function(call)) {
            return self.push(base, callee, FrameId::NONE);
        }
        if call != FrameId::NONE && self.holds(context, callee, call) {
            return self.push(base, callee, call);
        }
        let path = self.push(base, callee, address);
        if call == FrameId::NONE {
            path
        } else if walk.leaf.runtime {
            // Where the call was made is not on the stack, but what made it is.
            self.with_frames(path, inside, frames, None)
        } else {
            self.push(path, self.callee(call), call)
        }
    }

    /// The path with the user's frames among these nodes, and the jumps between them. `first` replaces the address of
    /// the first node, which is then the user's.
    fn with_frames(
        &mut self,
        mut path: PathId,
        inside: Inside<'_>,
        nodes: Range<usize>,
        first: Option<FrameId>,
    ) -> PathId {
        let walk = inside.walk;
        let mut jumped = inside.jumped;
        let mut at = nodes.end;
        while at > nodes.start {
            at -= 1;
            if at < inside.outermost {
                path = self.with_jumps_to(path, walk, at);
            }
            if walk.nodes[at].role != Role::Code {
                continue;
            }
            let node = &walk.nodes[at];
            let body = std::mem::replace(&mut jumped, FrameId::NONE);
            path = self.with_jumps(path, body, node.frame);
            if self.facts.is_target(node.function) {
                path = self.with_parent(path, node.function.map(|f| self.facts.whole(f)));
            }
            let callee = self.callee(node.frame);
            at = walk.first_part(&self.facts, at).max(nodes.start);
            let address = first.filter(|_| at == nodes.start);
            path = self.push(path, callee, address.unwrap_or(walk.nodes[at].frame));
            path = self.with_targets(path, walk.nodes[at].frame);
        }
        path
    }

    /// The innermost of the user's frames among these nodes in the function that holds `call`.
    fn holder(&self, walk: &Walk, nodes: Range<usize>, call: FrameId) -> Option<usize> {
        let holds = |at: &usize| {
            let node = &walk.nodes[*at];
            node.role == Role::Code && self.facts.same_function(node.frame, call)
        };
        let mut nodes = nodes.filter(|_| call != FrameId::NONE);
        nodes.find(holds)
    }

    /// Whether a call is in the construct's own code, which may be inlined into the function that
    /// holds the directive.
    fn holds(&self, context: ContextId, construct: Callee, call: FrameId) -> bool {
        let is_part = |body| self.facts.is_part(self.facts.function(call), Some(body));
        self.callee(call) == construct
            || matches!(construct, Callee::Function(body) if is_part(body))
            || self.facts.is_in_fork(context, call)
    }

    /// Restores the functions that left the stack by jumps between node `at` and its caller.
    fn with_jumps_to(&mut self, path: PathId, walk: &Walk, at: usize) -> PathId {
        if walk.omitted == Some(at + 1) {
            return self.push(path, Callee::Cut(Cut::TooDeep), FrameId::NONE);
        }
        match walk.nodes.get(at + 1) {
            Some(outer) if outer.role == Role::Code => {
                self.with_jumps(path, outer.frame, walk.nodes[at].frame)
            }
            _ => path,
        }
    }

    /// Restores the functions that left the stack by jumps between two frames.
    fn with_jumps(&mut self, path: PathId, caller: FrameId, callee: FrameId) -> PathId {
        let symbols = self.facts.symbols;
        let jumps = symbols.jumps_between(caller, callee).iter();
        jumps.fold(path, |path, &frame| {
            let callee = match frame {
                FrameId::NONE => Callee::Pseudo(Pseudo::TailCall),
                frame => self.callee(frame),
            };
            self.push(path, callee, frame)
        })
    }

    /// Whether a function without a symbol is not the body `name`.
    fn is_another(&self, function: Option<FunctionId>, name: Option<FunctionId>) -> bool {
        function.is_some_and(|f| !self.facts.is_named(f) && name.is_some_and(|name| name != f))
    }

    /// Whether a function is not the body `name` of a context, but that of one around it.
    fn is_around(
        &self,
        function: Option<FunctionId>,
        name: Option<FunctionId>,
        context: ContextId,
    ) -> bool {
        let function = function.map(|f| self.facts.whole(f));
        if function.is_none() || name.is_none() || function == name {
            return false;
        }
        let mut around = self.facts.context(context).parent;
        while around != ContextId::ROOT && self.naming.of(around) != function {
            around = self.facts.context(around).parent;
        }
        around != ContextId::ROOT
    }

    /// Whether a body has the code of another one, `code`.
    fn is_folded(&self, body: Option<FunctionId>, code: Option<FunctionId>) -> bool {
        let both = body.zip(code);
        both.is_some_and(|(body, code)| self.facts.is_folded_into(body, code))
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
            } else if row.python != StackId::EMPTY && row.parent == ContextId::ROOT {
                row.python
            } else {
                row.stack
            };
            let walk = Walk::new(&self.facts, stack);
            let callers = match (stack, row.parent) {
                (StackId::EMPTY, ContextId::ROOT) => PathId::EMPTY,
                _ => {
                    let callers = self.user_path(&walk, row.parent, None);
                    match self.facts.top(stack) {
                        Some((call, _)) => self.with_jumps(callers, call, row.body),
                        None => callers,
                    }
                }
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
    fn plain(&mut self, walk: &Walk, wait: Option<FrameId>) -> PathId {
        let nodes = &walk.nodes;
        let mut path = match walk.cut {
            Some(cut) => self.push(PathId::EMPTY, Callee::Cut(cut), FrameId::NONE),
            None => PathId::EMPTY,
        };
        let call = wait.unwrap_or(FrameId::NONE);
        let holder = self.holder(walk, 0..nodes.len(), call);
        let stop = holder.unwrap_or(0);
        // The thread was seen shortly before or after the call, at another line.
        let elsewhere = wait.is_some() && holder.is_none() && !walk.leaf.runtime;
        let mut started = false;
        let mut at = nodes.len();
        while at > stop {
            at -= 1;
            path = self.with_jumps_to(path, walk, at);
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
            let address = match first {
                _ if holder == Some(first) => call,
                0 if elsewhere => FrameId::NONE,
                _ => nodes[first].frame,
            };
            path = self.push(path, self.callee(nodes[at].frame), address);
            path = self.with_targets(path, nodes[first].frame);
            at = first;
        }
        if elsewhere && call != FrameId::NONE {
            path = self.push(path, self.callee(call), call);
        }
        path
    }

    /// Adds the target regions that are inlined at an address.
    fn with_targets(&mut self, path: PathId, frame: FrameId) -> PathId {
        let targets: Vec<FunctionId> = self.facts.inlined_targets(frame).collect();
        targets.into_iter().fold(path, |path, target| {
            let path = self.with_parent(path, Some(target));
            self.push(path, Callee::Function(target), frame)
        })
    }
}
