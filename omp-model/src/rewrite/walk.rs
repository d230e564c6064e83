//! A machine stack with the role of each frame, and the properties of its leaf.

use experiment::ids::{FrameId, StackId};
use experiment::symbols::{Construct, FunctionId};
use experiment::tables::{Cut, StackEntry};

use super::frames::{Facts, Part, Role};
use super::pools::Waiting;

/// One frame of a stack.
#[derive(Clone, Copy, Debug)]
pub(super) struct WalkFrame {
    /// The stack from this frame outward.
    pub(super) stack: StackId,
    /// The stack of its callers.
    pub(super) callers: StackId,
    /// The address.
    pub(super) frame: FrameId,
    /// The function by the symbol table.
    pub(super) function: Option<FunctionId>,
    /// Its role.
    pub(super) role: Role,
    /// Whether it is the runtime function that calls outlined functions.
    pub(super) microtask: bool,
}

/// Properties of the innermost end of a stack.
#[derive(Clone, Debug, Default)]
pub(super) struct Leaf {
    /// Whether it lies in the runtime (or in a function that the runtime called for its own
    /// purposes).
    pub(super) runtime: bool,
    /// The outermost exported runtime function there: it identifies the construct.
    pub(super) entry: Option<FunctionId>,
    /// It lies in MPI, or in what MPI called.
    pub(super) in_mpi: bool,
    /// The user's frame that called it.
    pub(super) caller: Option<FrameId>,
    /// Whether the runtime was calling a reduction's combiner.
    pub(super) reducing: bool,
    /// Whether the stack's outermost user frame, if any, lies inward of a thread's start.
    pub(super) bare: bool,
    /// Whether the thread has entered a construct's body.
    pub(super) inside: bool,
    /// The thread pool outside of OpenMP that waits there, if any.
    pub(super) pool: Option<Waiting>,
}

/// A machine stack without the kernel's frames, leaf first.
#[derive(Clone, Debug, Default)]
pub(super) struct Walk {
    pub(super) nodes: Vec<WalkFrame>,
    /// Why the stack ends before the thread's first function, if it does.
    pub(super) cut: Option<Cut>,
    /// The node between which and its callee frames are missing, if the stack was too deep for all of
    /// them.
    pub(super) omitted: Option<usize>,
    pub(super) leaf: Leaf,
}

/// Initial capacity: more frames than most stacks have.
const FRAMES: usize = 32;

impl Walk {
    pub(super) fn new(facts: &Facts<'_>, stack: StackId) -> Walk {
        let mut walk = Walk {
            nodes: Vec::with_capacity(FRAMES),
            ..Walk::default()
        };
        let mut at = stack;
        while at != StackId::EMPTY {
            let Some(row) = facts.tables.stacks.get(at.0) else {
                break;
            };
            match row.entry {
                StackEntry::Cut(_) if row.callers != StackId::EMPTY => {
                    walk.omitted = Some(walk.nodes.len());
                }
                StackEntry::Cut(cut) => walk.cut = Some(cut),
                StackEntry::Frame(frame) => {
                    if let Some(role) = facts.role(frame) {
                        let function = facts.function(frame);
                        walk.nodes.push(WalkFrame {
                            stack: at,
                            callers: row.callers,
                            frame,
                            function,
                            role,
                            microtask: facts.is_microtask(frame),
                        });
                    }
                }
            }
            at = row.callers;
        }
        walk.leave_out_interpreter(facts);
        walk.find_roles(facts);
        walk.find_leaf(facts);
        walk.leaf.pool = walk.find_pool(facts);
        walk.leaf.runtime |= walk.leaf.pool.is_some();
        walk
    }

    /// Leaves out the frames of Python's interpreter where functions of Python are known: of these, the function of
    /// the interpreter that runs them, and all that lies between them and what they called. What remains is the
    /// interpreter at the leaf, its first function, and a function that runs others of Python, which are not known.
    fn leave_out_interpreter(&mut self, facts: &Facts<'_>) {
        if !facts.has_python() || self.omitted.is_some() {
            return;
        }
        let parts: Vec<Part> = self.nodes.iter().map(|it| facts.part(it.frame)).collect();
        let is_python = |part: &Part| matches!(part, Part::Frame | Part::Trampoline);
        let is_interpreter = |part: &Part| matches!(part, Part::Runs | Part::Helps);
        let Some(outermost) = parts.iter().rposition(is_python) else {
            return;
        };
        let leaf = parts.iter().take_while(|it| is_interpreter(it)).count();
        let stays = |at: usize| match parts[at] {
            Part::Other | Part::Frame => true,
            // The frame that was read stands for it.
            Part::Trampoline => at == 0 || parts[at - 1] != Part::Frame,
            Part::Runs => !parts.get(at + 1).is_some_and(is_python),
            Part::Helps => {
                at < leaf || at > outermost && !parts.get(at + 1).is_some_and(is_interpreter)
            }
        };
        let kept = (0..parts.len()).filter(|at| stays(*at));
        self.nodes = kept.map(|at| self.nodes[at]).collect();
    }

    /// Assigns roles to runs of code frames: the user's, those that the runtime called for its own
    /// purposes, and a worker's first frames.
    fn find_roles(&mut self, facts: &Facts<'_>) {
        let mut start = 0;
        while start < self.nodes.len() {
            if self.nodes[start].role != Role::Code {
                start += 1;
                continue;
            }
            let end = self.nodes[start..]
                .iter()
                .position(|n| n.role != Role::Code)
                .map_or(self.nodes.len(), |length| start + length);
            let outer = self.nodes.get(end + 1).map(|outer| outer.frame);
            let role = match self.nodes.get(end) {
                Some(caller) if !facts.is_body(self.nodes[end - 1].frame, caller.frame, outer) => {
                    Role::Runtime
                }
                Some(_) => Role::Code,
                // A truncated stack may lack the user's callers.
                None if start > 0
                    && self.cut.is_none()
                    && !self.nodes[start..end]
                        .iter()
                        .any(|n| facts.is_user(n.frame) && !facts.begins_thread(n.function)) =>
                {
                    Role::Start
                }
                None => Role::Code,
            };
            let combiner = facts.construct(self.nodes[end - 1].function);
            let inward = self.nodes[..start].iter().all(|n| n.role == Role::Runtime);
            if role == Role::Runtime && combiner == Some(Construct::Reduction) && inward {
                self.leaf.reducing = true;
            }
            for node in &mut self.nodes[start..end] {
                node.role = role;
            }
            if start == 0 && role == Role::Code {
                self.find_combiner(facts, end);
            }
            start = end;
        }
    }

    /// Makes the first frames the user's. A thread that the program created is the user's from its
    /// first frame on, even if all other frames are the runtime's (its work at the end of such a
    /// thread).
    pub(super) fn keep_start(&mut self) {
        for node in &mut self.nodes {
            if node.role == Role::Start {
                node.role = Role::Code;
            }
        }
    }

    /// With few threads, a construct's body calls its reduction's combiner directly. That is
    /// reduction time too, and the combiner is not a call that the author wrote.
    fn find_combiner(&mut self, facts: &Facts<'_>, end: usize) {
        let nodes = &self.nodes[..end];
        let combines = |n: &WalkFrame| facts.construct(n.function) == Some(Construct::Reduction);
        let inlined = |n: &WalkFrame| facts.inlines_combiner(n.frame);
        let own = nodes.iter().rposition(combines).map(|at| at + 1);
        // The frame that inlines the combiner is the construct's body, and stays.
        let found = own.max(nodes.iter().rposition(inlined));
        if let Some(upto) = found {
            self.leaf.reducing = true;
            for node in &mut self.nodes[..upto] {
                node.role = Role::Runtime;
            }
        }
    }

    fn find_leaf(&mut self, facts: &Facts<'_>) {
        self.leaf.runtime = self.nodes.first().is_some_and(|n| n.role == Role::Runtime);
        self.leaf.in_mpi = self
            .nodes
            .iter()
            .take_while(|n| n.role == Role::Runtime)
            .any(|n| facts.is_mpi(n.frame));
        self.leaf.bare = self.nodes.iter().all(|n| n.role != Role::Code);
        self.leaf.inside = self
            .nodes
            .windows(2)
            .any(|pair| (pair[0].role, pair[1].role) == (Role::Code, Role::Runtime));
        let run = self
            .nodes
            .iter()
            .position(|n| n.role != Role::Runtime || n.microtask)
            .unwrap_or(self.nodes.len());
        self.leaf.entry = self.nodes[..run]
            .iter()
            .rev()
            .filter_map(|n| n.function)
            .find(|&f| facts.is_entry_point(f));
        let caller = self.nodes.get(run).filter(|n| n.role == Role::Code);
        self.leaf.caller = caller.filter(|_| run > 0).map(|n| n.frame);
    }

    /// The first node at or outward of `from` that is the user's code.
    pub(super) fn code_from(&self, from: usize) -> Option<&WalkFrame> {
        self.nodes
            .get(from..)?
            .iter()
            .find(|n| n.role == Role::Code)
    }

    /// The pool that the leaf waits in or for. Its frames get the runtime's role, because the user
    /// did not call them.
    fn find_pool(&mut self, facts: &Facts<'_>) -> Option<Waiting> {
        let nodes = &mut self.nodes;
        let of = |node: &WalkFrame| facts.pool(node.function?);
        let (at, waiting) = nodes
            .iter()
            .enumerate()
            .find_map(|(at, n)| Some((at, of(n)?)))?;
        // A pool that calls its own library or an OpenMP runtime works; to wait, it calls system
        // functions.
        let module = facts.module(nodes[at].frame);
        let works = |n: &WalkFrame| n.role == Role::Runtime || facts.module(n.frame) == module;
        if nodes[..at].iter().any(works) {
            return None;
        }
        for node in &mut nodes[..=at] {
            node.role = Role::Runtime;
        }
        Some(waiting)
    }

    /// Whether the stack from node `at` outward begins with all frames of `stack`: the stack of a
    /// fork point inside a task reaches only to the runtime that runs the task, on any thread.
    pub(super) fn leads_on(&self, facts: &Facts<'_>, at: usize, stack: StackId) -> bool {
        let mut stack = stack;
        let known = self.nodes[at..]
            .iter()
            .take_while(|node| match facts.top(stack) {
                Some((frame, callers)) if frame == node.frame => {
                    stack = callers;
                    true
                }
                _ => false,
            });
        known.count() > 0 && stack == StackId::EMPTY
    }

    /// The innermost node of the function whose outermost part is node `at`.
    pub(super) fn first_part(&self, facts: &Facts<'_>, at: usize) -> usize {
        let mut first = at;
        while first > 0
            && self.nodes[first - 1].role == Role::Code
            && self.is_inner_part(facts, first - 1)
        {
            first -= 1;
        }
        first
    }

    /// Whether the code at node `at` is the inner part of its caller's function.
    pub(super) fn is_inner_part(&self, facts: &Facts<'_>, at: usize) -> bool {
        let outer = self.nodes.get(at + 1);
        outer.is_some_and(|outer| facts.is_part(self.nodes[at].function, outer.function))
    }

    /// The name of the entry point that the leaf's construct was entered by: from the stack or, if
    /// that function left by a tail call, from the call instruction.
    pub(super) fn entry<'a>(&self, facts: &Facts<'a>) -> Option<&'a str> {
        let called = || facts.symbols.code_of(self.leaf.caller?)?.calls.as_deref();
        let entry = self.leaf.entry.map(|function| facts.linkage(function));
        entry.or_else(called)
    }

    /// Whether user code waits for another thread in its own loop, or yields its CPU, which no
    /// thread with work does.
    pub(super) fn spins(&self, facts: &Facts<'_>) -> bool {
        let yields = |node: &WalkFrame| {
            let name = node.function.map(|f| facts.linkage(f));
            let yields = matches!(name, Some("sched_yield" | "__sched_yield"));
            yields && node.role == Role::Code && !facts.is_user(node.frame)
        };
        if self.nodes.first().is_some_and(yields) {
            return true;
        }
        let own = |node: &&WalkFrame| node.role == Role::Code && facts.is_user(node.frame);
        let inner = self.nodes.iter().find(own);
        let fact = inner.and_then(|node| facts.symbols.code_of(node.frame));
        fact.is_some_and(|fact| fact.spins)
    }
}
