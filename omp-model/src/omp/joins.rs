//! How regions end: seen by their parallel_end, or found out where that was lost.

use experiment::ids::{ContextId, FrameId, StackId, ThreadId};
use experiment::state::State;
use experiment::tables::{Context, ContextKind, StackEntry, Tables, ThreadKind, ThreadState};

use super::machine::{Machine, Step};
use super::regions::{Member, Slot};
use super::thread::{Cause, Entry};
use crate::stream::Instance;

pub(super) const fn is_fork(entry: &Entry) -> bool {
    matches!(entry.cause, Cause::Fork(_))
}

/// Whether the stack `inner` goes on from `outer`; `None` where one is not known to its end.
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
    /// Tells the threads of all regions that were found to be over.
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

    /// The region's join is over at this moment: each of its workers is idle from here on.
    fn end_region(&mut self, now: &mut Step<'_>, slot: Slot) {
        self.regions.end(slot);
        let region = self.regions.at_mut(slot);
        let (id, owner) = (region.id, region.owner);
        let mut members = std::mem::take(&mut region.members);
        for &Member { thread: member, .. } in &members {
            let found = self.threads[member.index()]
                .find(|entry| entry.cause == Cause::Implicit(slot) && entry.id == id);
            if let Some(at) = found {
                self.unwind(member, at);
                self.stop_waiting(now, member);
                self.retire(now.tables, member);
                now.tell(member, self.threads[member.index()].top());
            }
        }
        members.clear();
        self.regions.at_mut(slot).members = members;
        if let Some(owner) = owner {
            self.excise(now, owner, slot, id);
        }
    }

    /// Takes a region that ended unseen off the stack of the thread that encountered it, with
    /// all that was inside. What came after lost events was not inside, and stays.
    fn excise(&mut self, now: &mut Step<'_>, owner: ThreadId, slot: Slot, id: Instance) {
        let stack = &mut self.threads[owner.index()];
        let Some(from) = stack.find(|entry| entry.cause == Cause::Fork(slot) && entry.id == id)
        else {
            return;
        };
        let entries = stack.entries_mut();
        let to = entries[from..]
            .iter()
            .position(|entry| entry.cause == Cause::Lost)
            .map_or(entries.len(), |at| from + at);
        for entry in entries.drain(from..to) {
            if let Cause::Fork(inner) = entry.cause
                && self.regions.open(inner, entry.id).is_some()
            {
                self.ending.push(inner);
            }
        }
        // The loss that hid the end and one before the region's begin are one now.
        if entries[from - 1].cause == Cause::Lost
            && entries
                .get(from)
                .is_some_and(|entry| entry.cause == Cause::Lost)
        {
            entries.remove(from - 1);
        }
        self.stop_waiting(now, owner);
        now.tell(owner, self.threads[owner.index()].top());
    }

    /// A wait for a mutex ends with the region that it was in, also where its end was not seen.
    fn stop_waiting(&mut self, now: &mut Step<'_>, thread: ThreadId) {
        if self.locks.waits(thread) && self.threads[thread.index()].top().cause != Cause::Mutex {
            self.locks.wait_is_over(&mut now.accounting_now(), thread);
        }
    }

    /// A thread that has worked in a team and is at its base again is an idle worker, also where
    /// nothing had told its kind.
    pub(super) fn retire(&mut self, tables: &mut Tables, thread: ThreadId) {
        let stack = &mut self.threads[thread.index()];
        if stack.depth() == 1 && stack.base().state == State::Outside {
            let thread_state = self
                .labels
                .without_call(tables, State::Idle, ContextId::ROOT);
            stack.set_base(State::Idle, thread_state);
            if let Some(row) = tables.threads.get_mut(thread.index()) {
                row.kind = ThreadKind::Worker;
            }
        }
    }

    /// A thread whose events were lost encounters a region at `site`: is it still inside the
    /// regions that it was in before?
    ///
    /// A thread that forks inside a region that it forked has that fork's stack below: the one
    /// site extends the other. So the sites tell which regions ended unseen.
    pub(super) fn encounter(&mut self, now: &mut Step<'_>, site: StackId) {
        // Each round ends the innermost region, or is the last.
        for _ in 0..self.threads[now.thread.index()].depth() {
            if self.threads[now.thread.index()].top().cause != Cause::Lost {
                return;
            }
            let stack = &mut self.threads[now.thread.index()];
            let inside = match stack.find(is_fork).map(|at| stack.entries()[at].cause) {
                Some(Cause::Fork(slot)) => {
                    let outer = now.tables.contexts.get(self.regions.at(slot).context.0);
                    let inside = outer.and_then(|outer| extends(now.tables, site, outer.stack));
                    if inside == Some(false) {
                        self.ending.push(slot);
                        self.settle(now);
                        continue;
                    }
                    inside
                }
                // A worker in a team, or serial code; of a worker between teams nothing is known.
                _ => Some(stack.depth() > 2 || stack.base().state == State::Serial),
            };
            if inside != Some(true) {
                return;
            }
            stack.pop();
            stack.drop_waits();
        }
    }

    pub(super) fn is_placeholder(&self, slot: Slot) -> bool {
        let region = self.regions.at(slot);
        region.owner.is_none() && !region.ended
    }

    /// A region whose begin has not come, or was lost: its place is unknown.
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
            body: FrameId::NONE,
        };
        let context = self.labels.context(now.tables, context);
        let within = self.new_region(now, task);
        self.regions.begin(id, (context, within), None, now.time)
    }

    /// The begin of a placeholder's region came after all: its threads get the right context.
    /// `task` forked it.
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
            for entry in self.threads[member.index()].entries_mut() {
                if entry.context == old && entry.context != ContextId::ROOT {
                    let thread_state = now.tables.thread_states.get(entry.thread_state.0);
                    let call = thread_state.map_or(FrameId::NONE, |thread_state| thread_state.call);
                    entry.context = context;
                    entry.within.task = task;
                    entry.thread_state = self.labels.thread_state(
                        now.tables,
                        ThreadState {
                            state: entry.state,
                            context,
                            call,
                        },
                    );
                }
            }
            now.tell(member, self.threads[member.index()].top());
        }
        self.regions.at_mut(slot).members = members;
    }
}
