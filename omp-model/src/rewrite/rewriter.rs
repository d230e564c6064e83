//! Display stacks of samples, in both modes.

use experiment::ids::{ContextId, FrameId, StackId, ThreadStateId};
use experiment::state::State;
use experiment::symbols::SymbolTable;
use experiment::tables::{Interner, StackEntry, Tables, ThreadKind, ThreadState};
use rustc_hash::FxHashMap;

use super::display_stacks::DisplayStacks;
use super::frames::{Facts, Role};
use super::naming::Naming;
use super::refined::{self, Clues};
use super::sampled::SampledStack;
use super::walk::Walk;
use crate::profile::{Callee, Path, PathId};
use crate::states::{Pseudo, RefinedState};

/// Makes display stacks, each distinct [`SampledStack`] once.
pub struct Rewriter<'a> {
    stacks: DisplayStacks<'a>,
    user: FxHashMap<SampledStack, (PathId, RefinedState)>,
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
    pub fn user(&mut self, sample: SampledStack) -> (PathId, RefinedState) {
        if let Some(&known) = self.user.get(&sample) {
            return known;
        }
        let rewritten = self.rewritten(sample, false);
        self.user.insert(sample, rewritten);
        rewritten
    }

    /// Like [`Self::user`], for time at the call that the thread state names, which was made by the
    /// function of the stack's leaf or by one that it called.
    pub(crate) fn user_at_call(&mut self, sample: SampledStack) -> (PathId, RefinedState) {
        self.rewritten(sample, true)
    }

    fn rewritten(&mut self, sample: SampledStack, at_call: bool) -> (PathId, RefinedState) {
        let thread_state = self.thread_state(sample.thread_state);
        let mut walk = Walk::new(&self.stacks.facts, sample.stack);
        if sample.thread == ThreadKind::Initial {
            walk.keep_start();
        }
        let state = self.refine(&walk, thread_state, sample.thread);
        let pool = walk.leaf.pool.filter(|_| state == RefinedState::Idle);
        let path = if state == RefinedState::Idle && pool.is_none_or(|pool| pool.own) {
            PathId::EMPTY
        } else {
            // The event gives the call that waits. Without it, user code at the leaf is not where
            // the thread waits: the clocks of samples and events differ by a microsecond.
            let wait = match self.call(thread_state) {
                call if at_call => Some(call),
                _ if state.can_work() => None,
                call if call != FrameId::NONE && thread_state.state.is_wait() => Some(call),
                _ => (!walk.leaf.runtime).then_some(FrameId::NONE),
            };
            let context = if thread_state.state == State::Unknown {
                ContextId::ROOT
            } else {
                thread_state.context
            };
            self.stacks.user_path(&walk, context, wait)
        };
        let special = match pool {
            Some(pool) => Some(pool.pseudo),
            None if state == RefinedState::Work && walk.spins(&self.stacks.facts) => {
                Some(Pseudo::FlushSpin)
            }
            None => None,
        };
        let path = match special {
            Some(pseudo) => self
                .stacks
                .push(path, Callee::Pseudo(pseudo), FrameId::NONE),
            None => self.stacks.with_leaf(path, state),
        };
        (path, state)
    }

    /// The stack as measured, kernel frames included, and what the thread did.
    pub fn machine(&mut self, sample: SampledStack) -> (PathId, RefinedState) {
        (self.measured(sample.stack), self.refined_state(sample))
    }

    /// Like [`Self::machine`], for time at the call that the thread state names, which was made by
    /// the function of the stack's leaf.
    pub(crate) fn machine_at_call(&mut self, sample: SampledStack) -> (PathId, RefinedState) {
        let call = self.thread_state(sample.thread_state).call;
        let leaf = self.stacks.facts.tables.stacks.get(sample.stack.0);
        let callers = self.measured(leaf.map_or(StackId::EMPTY, |leaf| leaf.callers));
        (
            self.measured_frame(callers, call),
            self.refined_state(sample),
        )
    }

    /// What the thread did: the recorded state refined by the stack. The same in both modes.
    pub fn refined_state(&self, sample: SampledStack) -> RefinedState {
        let walk = Walk::new(&self.stacks.facts, sample.stack);
        self.refine(&walk, self.thread_state(sample.thread_state), sample.thread)
    }

    /// What a thread did, for time without samples: by its recorded state alone.
    pub(crate) fn state_without_stack(
        &self,
        thread_state: ThreadStateId,
        thread: ThreadKind,
    ) -> RefinedState {
        self.refine(&Walk::default(), self.thread_state(thread_state), thread)
    }

    /// The path for time of a thread state without samples: the construct itself and, if the event
    /// recorded it, the function that called the runtime.
    pub fn user_without_stack(
        &mut self,
        thread_state: ThreadStateId,
        thread: ThreadKind,
    ) -> (PathId, RefinedState) {
        let thread_state = self.thread_state(thread_state);
        let state = self.refine(&Walk::default(), thread_state, thread);
        if state == RefinedState::Idle {
            return (self.stacks.with_leaf(PathId::EMPTY, state), state);
        }
        if thread_state.context == ContextId::ROOT && thread_state.call == FrameId::NONE {
            let unknown = Callee::Pseudo(Pseudo::Unknown);
            let path = self.stacks.push(PathId::EMPTY, unknown, FrameId::NONE);
            return (self.stacks.with_leaf(path, state), state);
        }
        let call = self.call(thread_state);
        let wait = (call != FrameId::NONE).then_some(call);
        let path = self
            .stacks
            .user_path(&Walk::default(), thread_state.context, wait);
        (self.stacks.with_leaf(path, state), state)
    }

    /// The call into the runtime that a thread state names, if it is in the user's code and within
    /// the construct.
    fn call(&self, thread_state: ThreadState) -> FrameId {
        let ThreadState {
            state,
            context,
            call,
        } = thread_state;
        let facts = &self.stacks.facts;
        let may_join = matches!(state, State::ImplicitBarrier | State::TeamsBarrier);
        // The call of a join barrier is the one that forked.
        if facts.role(call) != Some(Role::Code) || may_join && facts.is_in_fork(context, call) {
            return FrameId::NONE;
        }
        call
    }

    /// Like [`Self::user_without_stack`], in machine mode: the measured stack of the construct's
    /// fork point.
    pub fn machine_without_stack(
        &mut self,
        thread_state: ThreadStateId,
        thread: ThreadKind,
    ) -> (PathId, RefinedState) {
        let thread_state = self.thread_state(thread_state);
        let state = self.refine(&Walk::default(), thread_state, thread);
        let site = self.stacks.facts.context(thread_state.context).stack;
        if site == StackId::EMPTY {
            let unknown = Callee::Pseudo(Pseudo::Unknown);
            return (
                self.stacks.push(PathId::EMPTY, unknown, FrameId::NONE),
                state,
            );
        }
        (self.measured(site), state)
    }

    fn thread_state(&self, thread_state: ThreadStateId) -> ThreadState {
        let thread_states = &self.stacks.facts.tables.thread_states;
        let thread_state = *thread_states
            .get(thread_state.0)
            .unwrap_or(&thread_states.rows()[0]);
        ThreadState {
            state: self.stacks.facts.symbols.state_of(thread_state),
            ..thread_state
        }
    }

    fn refine(&self, walk: &Walk, thread_state: ThreadState, thread: ThreadKind) -> RefinedState {
        let entry = walk.entry(&self.stacks.facts);
        let clues = Clues {
            eventful: self.stacks.naming.eventful,
            combining: self.stacks.naming.combines(thread_state.call),
        };
        refined::refine(thread_state.state, thread, &walk.leaf, entry, clues)
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
                StackEntry::Frame(frame) => self.measured_frame(path, frame),
            };
            self.machine.insert(at, path);
        }
        path
    }

    fn measured_frame(&mut self, callers: PathId, frame: FrameId) -> PathId {
        let callee = match self.stacks.facts.function(frame) {
            Some(function) => Callee::Function(function),
            None => self.stacks.symbolless(frame),
        };
        self.stacks.push(callers, callee, frame)
    }
}
