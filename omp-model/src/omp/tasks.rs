//! Explicit tasks: which ones a thread runs within its implicit task, and for how long.

use experiment::ids::Nanos;
use experiment::rows::Within;
use experiment::state::State;
use experiment::tables::{Context, ContextKind};

use super::account::TaskRun;
use super::machine::{InContext, Machine, Step};
use super::regions::Task;
use super::thread::{Cause, Level, Piece};
use crate::stream::{Instance, Site};

impl Machine {
    pub(super) fn task_create(&mut self, now: &mut Step<'_>, id: Instance, site: Site) {
        let creator = *self.threads[now.thread.index()].top();
        let created = self.created(now);
        created.task += 1;
        let within = Within {
            region: creator.within.region,
            task: created.task,
        };
        let context = Context {
            parent: creator.context,
            kind: ContextKind::Task,
            stack: site.stack,
            body: site.body,
        };
        let task = Task {
            context: self.ids.context(now.tables, context),
            within,
            creator: now.thread,
            work: Nanos(0),
        };
        self.tasks.create(id, task);
    }

    pub(super) fn task_schedule(&mut self, now: &mut Step<'_>, next: Instance, prior_done: bool) {
        if prior_done {
            self.complete_task(now);
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
                .rposition(|level| is_task(level) && level.id == next)
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

    /// The thread's current explicit task, if it is in one, is complete.
    fn complete_task(&mut self, now: &mut Step<'_>) {
        let thread = now.thread;
        let stack = &self.threads[thread.index()];
        let Some(at) = stack.find_inside(|cause| *cause == Cause::Task) else {
            return;
        };
        let done = stack.levels()[at].id;
        self.end_pieces(now, at);
        if let Some(task) = self.tasks.complete(done) {
            let run = TaskRun {
                context: task.context,
                work: task.work,
                elsewhere: task.creator != thread,
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
