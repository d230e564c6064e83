//! Explicit tasks.

use ompt::numbers::task::{TASKWAIT, UNDEFERRED};
use ompt::numbers::task_status::{CANCEL, COMPLETE};

use super::{Info, Replay, TaskFrame};
use crate::locksets::Held;
use crate::site::{ConstructKind, StrandKind};
use crate::strands::{Certainty, END, Point, StrandId};

/// The kind of a lock that stands for tasks that exclude each other by their dependences.
pub(super) const EXCLUSIVE_DEPENDENCE: u8 = 128;

impl Replay {
    pub(super) fn create(
        &mut self,
        slot: u32,
        number: u64,
        task: u64,
        flags: u32,
        (code, context): (u64, u32),
    ) {
        let Some(frame) = self.top(slot) else {
            return;
        };
        let (region, current, group) = (frame.region, frame.current, frame.siblings.group());
        let base = self.construct(slot, current, ConstructKind::Task, (code, 0), context);
        let parent = self.strands.divide(current);
        let strand = self.strands.begin(Some(parent), number);
        self.tasks
            .begin(task, strand, flags & UNDEFERRED != 0, group);
        if flags & TASKWAIT != 0 {
            // It stands for a wait, and executes nothing.
            if let Some(team) = self.teams.get_mut(&region) {
                team.strands.push(strand);
            }
            return;
        }
        let born = self.infos.get(&current).and_then(|creator| {
            let around = Some(creator.implicit).filter(|around| *around != current);
            around.or(creator.born)
        });
        self.infos.insert(
            strand,
            Info {
                kind: StrandKind::Task,
                thread: slot,
                index: 0,
                region,
                base: Some(base),
                asked: false,
                implicit: strand,
                after: 0,
                born,
                rounds: None,
            },
        );
        if let Some(team) = self.teams.get_mut(&region) {
            team.is_concurrent = true;
            team.strands.push(strand);
        }
        if let Some(frame) = self.top_mut(slot) {
            frame.siblings.children.push(strand);
        }
    }

    pub(super) fn depend(&mut self, slot: u32, task: u64, address: u64, kind: u8) {
        let Some(strand) = self.tasks.strand(task) else {
            return;
        };
        let Some(frame) = self.top_mut(slot) else {
            return;
        };
        let (before, is_exclusive) = frame.siblings.depend(strand, address, kind);
        self.strands.keep(strand);
        for earlier in before {
            let end = Point {
                strand: earlier,
                segment: END,
            };
            self.strands.order_after(end, strand, Certainty::Certain);
        }
        if is_exclusive {
            self.tasks.exclude(task, address);
        }
    }

    pub(super) fn join_task(&mut self, task: StrandId, waiter: StrandId) {
        self.strands.join(task, waiter);
    }

    pub(super) fn switch(
        &mut self,
        slot: u32,
        number: u64,
        (from, to): (u64, u64),
        status: u8,
        frame: u64,
    ) {
        const DETACH: u8 = 4;
        const EARLY_FULFILL: u8 = 5;
        const LATE_FULFILL: u8 = 6;
        const TASKWAIT_COMPLETE: u8 = 8;
        match status {
            COMPLETE | CANCEL | DETACH => {
                let Some(thread) = self.threads.get_mut(&slot) else {
                    return;
                };
                if thread.tasks.last().is_some_and(|task| task.task == from) && from != 0 {
                    thread.tasks.pop();
                }
                self.untied.remove(&from);
                let Some(strand) = self.tasks.strand(from) else {
                    return;
                };
                if status != DETACH {
                    self.strands.end(strand, number);
                }
                if self.tasks.is_undeferred(from)
                    && let Some(current) = self.top(slot).map(|task| task.current)
                {
                    self.strands.divide(current);
                    self.strands.join(strand, current);
                }
            }
            EARLY_FULFILL | LATE_FULFILL => {
                // What comes before the fulfilment comes before what waits for the task.
                if let Some(task) = self.tasks.strand(from)
                    && let Some(current) = self.top(slot).map(|task| task.current)
                {
                    let here = self.strands.divide(current);
                    self.strands.order_after(here, task, Certainty::Certain);
                }
            }
            TASKWAIT_COMPLETE => {
                if let (Some(waited), Some(current)) = (
                    self.tasks.strand(from),
                    self.top(slot).map(|task| task.current),
                ) {
                    self.strands.divide(current);
                    self.strands.join(waited, current);
                }
            }
            _ if self.return_to(slot, from, to) => {}
            _ => {
                let Some(region) = self.top(slot).map(|task| task.region) else {
                    return;
                };
                let Some(strand) = self.tasks.strand(to) else {
                    return;
                };
                if self.tasks.is_undeferred(to)
                    && let Some(current) = self.top(slot).map(|task| task.current)
                {
                    // The task around it has waited for those before.
                    let here = self.strands.divide(current);
                    self.strands.order_after(here, strand, Certainty::Certain);
                }
                let index = self
                    .top(slot)
                    .and_then(|task| self.infos.get(&task.main))
                    .map_or(0, |info| info.index);
                if let Some(info) = self.infos.get_mut(&strand) {
                    (info.thread, info.index) = (slot, index);
                }
                if let Some(mut task) = self.untied.remove(&to) {
                    task.frame = frame;
                    if let Some(thread) = self.threads.get_mut(&slot) {
                        thread.tasks.push(task);
                    }
                    return;
                }
                let mut task = TaskFrame::new(region, strand, frame);
                task.task = to;
                task.siblings.inherited = self.tasks.group(to);
                for address in self.tasks.exclusions(to) {
                    let held = Held {
                        lock: (EXCLUSIVE_DEPENDENCE, *address),
                        is_shared: false,
                    };
                    task.locks = self.locksets.with(task.locks, held);
                }
                let phase = self.teams.get(&region).map_or(0, |team| team.phase);
                task.phase = phase;
                if let Some(thread) = self.threads.get_mut(&slot) {
                    thread.tasks.push(task);
                }
            }
        }
    }

    /// If the thread goes back from an untied task, which has not ended, to the one beneath it: keeps
    /// what is known of the task for the thread that goes on with it.
    pub(super) fn return_to(&mut self, slot: u32, from: u64, to: u64) -> bool {
        let Some(thread) = self.threads.get_mut(&slot) else {
            return false;
        };
        let [.., beneath, top] = thread.tasks.as_slice() else {
            return false;
        };
        let is_return =
            from != 0 && (top.task, beneath.task) == (from, to) && top.region == beneath.region;
        if is_return && let Some(task) = thread.tasks.pop() {
            self.untied.insert(from, task);
        }
        is_return
    }
}
