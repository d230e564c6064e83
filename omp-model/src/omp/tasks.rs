//! Explicit tasks: which ones a thread runs within its implicit task, and for how long.

use experiment::ids::{ContextId, Nanos, ThreadId};
use experiment::rows::Within;
use experiment::state::State;
use experiment::tables::{Context, ContextKind};

use super::account::TaskRun;
use super::machine::{InContext, Machine, Step};
use super::task_table::Task;
use super::thread::{Cause, Level, Piece};
use crate::stream::{Instance, Site, TaskOf};

/// Bit of ids that the machine makes. Those of events are shorter.
const NAMELESS: u64 = 1 << 63;

/// A task that the thread creates now.
fn task_of(now: &Step<'_>, context: ContextId) -> Task {
    Task {
        context,
        within: Within::default(),
        creator: now.thread,
        work: Nanos(0),
        is_divided: false,
        is_whole: false,
        whole: Instance::NONE,
    }
}

impl Machine {
    pub(super) fn task_create(&mut self, now: &mut Step<'_>, id: Instance, site: Site, of: TaskOf) {
        let creator = *self.threads[now.thread.index()].top();
        let context = Context {
            parent: creator.context,
            kind: match of {
                TaskOf::Directive => ContextKind::Task,
                TaskOf::Taskloop | TaskOf::WholeTaskloop => ContextKind::Taskloop,
            },
            stack: site.stack,
            python: site.python,
            body: site.body,
        };
        let context = self.ids.context(now.tables, context);
        let task = match of {
            TaskOf::WholeTaskloop => Task {
                is_whole: true,
                ..task_of(now, context)
            },
            TaskOf::Directive | TaskOf::Taskloop => self.new_task(now, task_of(now, context)),
        };
        self.tasks.create(id, task);
    }

    /// The runtime gives a part of a taskloop's task to a new task, which has the same context.
    pub(super) fn task_divide(&mut self, now: &mut Step<'_>, id: Instance) {
        let stack = &self.threads[now.thread.index()];
        let Some(at) = stack.find_inside(|cause| *cause == Cause::Task) else {
            return;
        };
        let divided = stack.levels()[at];
        if let Some(task) = self.tasks.get_mut(divided.id) {
            task.is_divided = true;
        }
        let task = self.new_task(now, task_of(now, divided.context));
        self.tasks.create(id, task);
    }

    /// The task with its instance ids: it is created now.
    fn new_task(&mut self, now: &Step<'_>, task: Task) -> Task {
        let region = self.threads[now.thread.index()].top().within.region;
        let created = self.created(now);
        created.task += 1;
        let within = Within {
            region,
            task: created.task,
        };
        Task { within, ..task }
    }

    /// One of the tasks for which `whole` stands begins.
    fn begin_nameless(&mut self, now: &mut Step<'_>, whole: Instance, of: Task) {
        self.nameless_tasks += 1;
        let id = Instance(NAMELESS | self.nameless_tasks);
        let task = Task {
            is_whole: false,
            whole,
            ..of
        };
        let task = self.new_task(now, task);
        self.tasks.create(id, task);
        self.begin_piece(now, id);
    }

    pub(super) fn task_schedule(&mut self, now: &mut Step<'_>, next: Instance, prior_done: bool) {
        let whole = self.tasks.get(next).filter(|task| task.is_whole).copied();
        if let Some(whole) = whole {
            if !prior_done {
                return self.begin_nameless(now, next, whole);
            }
            if !self.is_in_task(now.thread, next) {
                self.tasks.complete(next);
                return;
            }
        }
        if prior_done {
            self.complete_task(now, false);
        }
        let thread = now.thread;
        let stack = &self.threads[thread.index()];
        let levels = stack.levels();
        let floor = stack
            .find_inside(|cause| matches!(cause, Cause::Implicit(_)))
            .unwrap_or(0);
        let is_task = |level: &Level| level.cause == Cause::Task;
        let resumed = if next == Instance::NONE {
            Some(floor)
        } else {
            levels[floor..]
                .iter()
                .rposition(|level| is_task(level) && self.is_named(level, next))
                .map(|at| floor + at)
        };
        match resumed {
            // The tasks above it are complete, or will be scheduled again (an untied task).
            Some(at) => {
                if let Some(above) = levels[at + 1..].iter().position(is_task) {
                    self.end_pieces(now, at + 1 + above);
                    self.unwind(thread, at + 1 + above);
                }
            }
            None => self.begin_piece(now, next),
        }
    }

    /// Whether events name the task of this level by `id`.
    fn is_named(&self, level: &Level, id: Instance) -> bool {
        let stands_for = |task: &Task| task.whole == id && id != Instance::NONE;
        level.id == id
            || (level.id.0 & NAMELESS != 0 && self.tasks.get(level.id).is_some_and(stands_for))
    }

    /// Whether the thread has begun a task with this name, and not completed it.
    fn is_in_task(&self, thread: ThreadId, id: Instance) -> bool {
        let levels = self.threads[thread.index()].levels().iter();
        let mut tasks = levels.filter(|level| level.cause == Cause::Task);
        tasks.any(|level| self.is_named(level, id))
    }

    /// The thread will not come back to what it is in, unless records were lost: counts the instances
    /// that it has not ended, and those that the teams of its regions have not ended. The threads of a
    /// process that ends die in any order.
    pub(super) fn leave_open(&mut self, now: &mut Step<'_>) {
        let mut leaving = vec![now.thread];
        while let Some(thread) = leaving.pop() {
            let now = &mut Step {
                tables: now.tables,
                accounting: now.accounting,
                time: now.time,
                thread,
            };
            while let Some((at, cause)) = self.innermost_open(thread) {
                if let Cause::Fork(slot) = cause {
                    self.count_region(now, slot);
                    self.left_open += u64::from(self.regions.at(slot).counts);
                    let members = self.regions.at(slot).members.iter();
                    let is_in = |thread: &ThreadId| {
                        let in_it = |level: &Level| level.cause == Cause::Implicit(slot);
                        self.threads[thread.index()].find(in_it).is_some()
                    };
                    leaving.extend(members.map(|member| member.thread).filter(is_in));
                } else {
                    self.complete_task(now, true);
                }
                self.unwind(thread, at);
            }
        }
    }

    /// The innermost instance that the thread has not ended, if no records were lost since it began:
    /// its depth, and whether it is a task or a region.
    fn innermost_open(&self, thread: ThreadId) -> Option<(usize, Cause)> {
        let levels = self.threads[thread.index()].levels();
        let lost = levels.iter().rposition(|level| level.cause == Cause::Lost);
        let known = lost.map_or(0, |at| at + 1);
        let is_open = |level: &Level| match level.cause {
            Cause::Task => true,
            Cause::Fork(slot) => self.regions.open(slot, level.id).is_some(),
            _ => false,
        };
        let at = known + levels[known..].iter().rposition(is_open)?;
        Some((at, levels[at].cause))
    }

    /// The thread's current explicit task, if it is in one, is complete, or `unfinished` for ever.
    fn complete_task(&mut self, now: &mut Step<'_>, unfinished: bool) {
        let thread = now.thread;
        let stack = &self.threads[thread.index()];
        let Some(at) = stack.find_inside(|cause| *cause == Cause::Task) else {
            return;
        };
        let done = stack.levels()[at].id;
        self.end_pieces(now, at);
        // What was divided is counted by its parts.
        let task = self.tasks.complete(done).filter(|it| !it.is_divided);
        if let Some(task) = task {
            let run = TaskRun {
                context: task.context,
                work: task.work,
                elsewhere: task.creator != thread,
                unfinished,
            };
            now.accounting.task(thread, now.time, run);
        }
        self.unwind(thread, at);
    }

    /// The thread begins or resumes a task that is not on its stack.
    fn begin_piece(&mut self, now: &mut Step<'_>, id: Instance) {
        let stack = &self.threads[now.thread.index()];
        let top = stack.top();
        // A task whose creation was lost runs in the current context.
        let (context, within) = match self.tasks.get(id) {
            Some(task) => (task.context, task.within),
            None => (top.context, top.within),
        };
        let piece = Piece {
            task: id,
            depth: stack.depth(),
            since: now.time,
            worked: now.accounting.worked(now.thread, now.time),
            inner: Nanos(0),
        };
        // Removes pieces whose levels were popped by something else than their end.
        let pieces = &mut self.threads[now.thread.index()].pieces;
        while pieces.last().is_some_and(|last| last.depth >= piece.depth) {
            pieces.pop();
        }
        pieces.push(piece);
        let instance = InContext {
            context,
            id,
            within,
        };
        self.enter(now, Cause::Task, State::Work, instance);
    }

    /// The tasks at `depth` and above do not run on this thread any more. Their work so far is
    /// added to them, and does not count for the tasks below.
    fn end_pieces(&mut self, now: &mut Step<'_>, depth: usize) {
        let worked = now.accounting.worked(now.thread, now.time);
        let pieces = &mut self.threads[now.thread.index()].pieces;
        while let Some(piece) = pieces.pop_if(|piece| piece.depth >= depth) {
            let whole = worked.since(piece.worked);
            if let Some(task) = self.tasks.get_mut(piece.task) {
                task.work.0 += whole.since(piece.inner).0;
                let (context, within) = (task.context, task.within);
                now.accounting
                    .piece(now.thread, context, within, piece.since, now.time);
            }
            if let Some(below) = pieces.last_mut() {
                below.inner.0 += whole.0;
            }
        }
    }
}
