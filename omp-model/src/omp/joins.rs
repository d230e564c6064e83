//! How regions end: by their parallel_end, or by later events where that was lost.

use experiment::ids::{ContextId, FrameId, Nanos, StackId, ThreadId};
use experiment::state::State;
use experiment::tables::{Context, ContextKind, StackEntry, Tables, ThreadKind, ThreadState};

use super::accounting::TimeAccounting;
use super::machine::{Machine, Step};
use super::regions::{Member, Slot};
use super::thread::{Cause, ConstructStack, Level};
use crate::stream::Instance;

pub(super) const fn is_fork(level: &Level) -> bool {
    matches!(level.cause, Cause::Fork(_))
}

/// Whether the stack `inner` extends `outer`; `None` if one of them is not known completely.
fn extends(tables: &Tables, inner: StackId, outer: StackId) -> Option<bool> {
    if inner == StackId::EMPTY || outer == StackId::EMPTY {
        return None;
    }
    let mut at = inner;
    while at != StackId::EMPTY {
        let node = tables.stacks.get(at.0)?;
        if node.callers == outer {
            return Some(true);
        }
        if let StackEntry::Cut(_) = node.entry {
            return None;
        }
        at = node.callers;
    }
    Some(false)
}

impl Machine {
    /// Ends all regions that were found to be over, on their threads.
    #[inline]
    pub(super) fn settle(&mut self, now: &mut Step<'_>) {
        if !self.ending.is_empty() {
            self.end_regions(now);
        }
    }

    #[inline(never)]
    fn end_regions(&mut self, now: &mut Step<'_>) {
        while let Some(slot) = self.ending.pop() {
            if !self.regions.at(slot).ended {
                self.end_region(now, slot);
            }
        }
    }

    /// The region's join is over now: each of its workers is idle from now on.
    fn end_region(&mut self, now: &mut Step<'_>, slot: Slot) {
        self.regions.end(slot);
        let region = self.regions.at_mut(slot);
        let (id, owner) = (region.id, region.owner);
        let mut members = std::mem::take(&mut region.members);
        for &Member { thread: member, .. } in &members {
            let found = self.threads[member.index()]
                .find(|level| level.cause == Cause::Implicit(slot) && level.id == id);
            if let Some(at) = found {
                self.unwind(member, at);
                self.stop_waiting(now, member);
                self.retire(now.tables, member);
                now.set_state(member, self.threads[member.index()].top());
            }
        }
        members.clear();
        self.regions.at_mut(slot).members = members;
        if let Some(owner) = owner {
            self.excise(now, owner, slot, id);
        }
    }

    /// Removes a region whose end was lost from the stack of the thread that encountered it, with
    /// all that was inside. What came after lost events was not inside, and stays.
    fn excise(&mut self, now: &mut Step<'_>, owner: ThreadId, slot: Slot, id: Instance) {
        let stack = &mut self.threads[owner.index()];
        let Some(from) = stack.find(|level| level.cause == Cause::Fork(slot) && level.id == id)
        else {
            return;
        };
        let levels = stack.levels_mut();
        let to = levels[from..]
            .iter()
            .position(|level| level.cause == Cause::Lost)
            .map_or(levels.len(), |at| from + at);
        for level in levels.drain(from..to) {
            if let Cause::Fork(inner) = level.cause
                && self.regions.open(inner, level.id).is_some()
            {
                self.ending.push(inner);
            }
        }
        // Merges a loss before the region's begin with the one that follows it now.
        if levels[from - 1].cause == Cause::Lost
            && levels
                .get(from)
                .is_some_and(|level| level.cause == Cause::Lost)
        {
            levels.remove(from - 1);
        }
        self.stop_waiting(now, owner);
        now.set_state(owner, self.threads[owner.index()].top());
    }

    /// A wait for a mutex ends with the region that it was in, even if its own end was lost.
    fn stop_waiting(&mut self, now: &mut Step<'_>, thread: ThreadId) {
        if self.locks.waits(thread) && self.threads[thread.index()].top().cause != Cause::MutexWait
        {
            self.locks.wait_is_over(&mut now.accounting_now(), thread);
        }
    }

    /// A thread that has worked in a team and is at its base again is an idle worker, even if its
    /// kind was unknown.
    pub(super) fn retire(&mut self, tables: &mut Tables, thread: ThreadId) {
        let stack = &mut self.threads[thread.index()];
        if stack.depth() == 1 && stack.base().state == State::Outside {
            let thread_state = self.ids.without_call(tables, State::Idle, ContextId::ROOT);
            stack.set_base(State::Idle, thread_state);
            if let Some(row) = tables.threads.get_mut(thread.index()) {
                row.kind = ThreadKind::Worker;
            }
        }
    }

    /// A thread whose events were lost encounters a region at `site`: ends the regions that it is
    /// not inside any more.
    pub(super) fn encounter(&mut self, now: &mut Step<'_>, site: StackId) {
        // Each iteration pops a level, or is the last.
        for _ in 0..self.threads[now.thread.index()].depth() {
            if self.end_left(now, site) != Some(true) {
                return;
            }
            let stack = &mut self.threads[now.thread.index()];
            stack.pop();
            stack.drop_waits();
        }
    }

    /// The machine stack of a thread was `stack` at `time`. If events of the thread were lost
    /// before, ends the regions that it has left: those whose fork point is not on its stack.
    pub fn sampled(
        &mut self,
        tables: &mut Tables,
        accounting: &mut TimeAccounting,
        (thread, time): (ThreadId, Nanos),
        stack: StackId,
    ) {
        let is_lost = |stack: &ConstructStack| stack.top().cause == Cause::Lost;
        if !self.threads.get(thread.index()).is_some_and(is_lost) {
            return;
        }
        let now = &mut Step {
            tables,
            accounting,
            time,
            thread,
        };
        self.end_left(now, stack);
        let levels = &mut self.threads[thread.index()];
        if levels.depth() == 2 && levels.base().state == State::Serial {
            levels.pop();
        }
        now.set_state(thread, levels.top());
    }

    /// Ends the regions that a thread, whose events were lost, is not inside at `stack`. Returns
    /// whether it is inside what is left; `None` if that cannot be known, or nothing was lost.
    ///
    /// A thread that forks inside a region that it forked has that fork's stack as callers: the
    /// new site extends the older one. Regions whose site it does not extend have ended.
    fn end_left(&mut self, now: &mut Step<'_>, stack: StackId) -> Option<bool> {
        // Each iteration ends the innermost region, or is the last.
        loop {
            let levels = &self.threads[now.thread.index()];
            if levels.top().cause != Cause::Lost {
                return None;
            }
            let fork = levels.find(is_fork).map(|at| levels.levels()[at].cause);
            let Some(Cause::Fork(slot)) = fork else {
                // A worker in a team, or serial code. A worker between teams is in no known state.
                return Some(levels.depth() > 2 || levels.base().state == State::Serial);
            };
            let outer = now.tables.contexts.get(self.regions.at(slot).context.0);
            let inside = outer.and_then(|outer| extends(now.tables, stack, outer.stack));
            if inside != Some(false) {
                return inside;
            }
            self.ending.push(slot);
            self.settle(now);
        }
    }

    pub(super) fn is_placeholder(&self, slot: Slot) -> bool {
        let region = self.regions.at(slot);
        region.owner.is_none() && !region.ended
    }

    /// A region whose begin has not come, or was lost: its fork point is unknown.
    pub(super) fn placeholder(&mut self, now: &mut Step<'_>, id: Instance, primary: bool) -> Slot {
        let (parent, task) = if primary {
            let top = self.threads[now.thread.index()].top();
            (top.context, top.within.task)
        } else {
            (ContextId::ROOT, 0)
        };
        let context = Context {
            parent,
            kind: ContextKind::Region,
            stack: StackId::EMPTY,
            python: StackId::EMPTY,
            body: FrameId::NONE,
        };
        let context = self.ids.context(now.tables, context);
        let within = self.new_region(now, task);
        self.regions.begin(id, context, within, None, now.time)
    }

    /// The begin of a placeholder's region came, forked by `task`: its threads get its context.
    pub(super) fn relabel(
        &mut self,
        now: &mut Step<'_>,
        slot: Slot,
        context: ContextId,
        task: u64,
    ) {
        let region = self.regions.at_mut(slot);
        let old = std::mem::replace(&mut region.context, context);
        region.within.task = task;
        let members = std::mem::take(&mut region.members);
        for &Member { thread: member, .. } in &members {
            for level in self.threads[member.index()].levels_mut() {
                if level.context == old && level.context != ContextId::ROOT {
                    if context == ContextId::ROOT {
                        level.state = State::Idle;
                    }
                    let thread_state = now.tables.thread_states.get(level.thread_state.0);
                    let call = thread_state.map_or(FrameId::NONE, |thread_state| thread_state.call);
                    level.context = context;
                    level.within.task = task;
                    level.thread_state = self.ids.thread_state(
                        now.tables,
                        ThreadState {
                            state: level.state,
                            context,
                            call,
                        },
                    );
                }
            }
            now.set_state(member, self.threads[member.index()].top());
        }
        self.regions.at_mut(slot).members = members;
    }
}
