//! The explicit tasks that exist.

use experiment::ids::{ContextId, Nanos, ThreadId};
use experiment::rows::Within;
use rustc_hash::FxHashMap;

use crate::stream::Instance;

/// An explicit task that was created and is not complete.
#[derive(Clone, Copy, Debug)]
pub(super) struct Task {
    pub(super) context: ContextId,
    /// Its instance id, and that of the region in which it was created.
    pub(super) within: Within,
    pub(super) creator: ThreadId,
    /// Its useful work in completed pieces.
    pub(super) work: Nanos,
    /// It gave parts of its iterations of a taskloop to others, which the runtime made of it.
    pub(super) is_divided: bool,
    /// It stands for all tasks of a taskloop. It is none itself.
    pub(super) is_whole: bool,
    /// The task that stands for it and the others of its taskloop, if there is one.
    pub(super) whole: Instance,
}

/// Explicit tasks that were created and are not complete.
///
/// A thread numbers its instances in a row, and tasks mostly run in the order in which they were created.
/// So those with neighbouring numbers lie together, in a page: of two million tasks that wait, a table of
/// single ones took a third of collect's time, for each look was a miss of every cache.
///
/// Tasks whose completion was lost would stay. So there are two generations: when the younger is full, the
/// elder is dropped.
#[derive(Debug, Default)]
pub(super) struct Tasks {
    young: FxHashMap<u64, Box<Page>>,
    elder: FxHashMap<u64, Box<Page>>,
    /// An empty page, for a program that has a few tasks at a time.
    spare: Option<Box<Page>>,
}

/// The tasks of a page.
const PAGE: usize = 64;

/// The number of pages in a generation. A program may well queue a million tasks.
const GENERATION: usize = (1 << 21) / PAGE;

#[derive(Debug)]
struct Page {
    tasks: [Option<Task>; PAGE],
    /// The number of tasks.
    count: usize,
}

impl Page {
    const fn empty() -> Page {
        Page {
            tasks: [None; PAGE],
            count: 0,
        }
    }
}

/// The page of a task, and its place there.
const fn place(id: Instance) -> (u64, usize) {
    (id.0 / PAGE as u64, (id.0 % PAGE as u64) as usize)
}

impl Tasks {
    pub(super) fn create(&mut self, id: Instance, task: Task) {
        let (number, at) = place(id);
        if self.young.len() >= GENERATION && !self.young.contains_key(&number) {
            self.elder = std::mem::take(&mut self.young);
        }
        let spare = &mut self.spare;
        let new = || spare.take().unwrap_or_else(|| Box::new(Page::empty()));
        let page = self.young.entry(number).or_insert_with(new);
        page.count += usize::from(page.tasks[at].replace(task).is_none());
    }

    pub(super) fn get(&self, id: Instance) -> Option<&Task> {
        let (number, at) = place(id);
        let mut generations = [&self.young, &self.elder].into_iter();
        generations.find_map(|pages| pages.get(&number)?.tasks[at].as_ref())
    }

    pub(super) fn get_mut(&mut self, id: Instance) -> Option<&mut Task> {
        let (number, at) = place(id);
        let mut generations = [&mut self.young, &mut self.elder].into_iter();
        generations.find_map(|pages| pages.get_mut(&number)?.tasks[at].as_mut())
    }

    pub(super) fn complete(&mut self, id: Instance) -> Option<Task> {
        let (number, at) = place(id);
        for pages in [&mut self.young, &mut self.elder] {
            let Some(page) = pages.get_mut(&number) else {
                continue;
            };
            let Some(task) = page.tasks[at].take() else {
                continue;
            };
            page.count -= 1;
            if page.count == 0 {
                self.spare = pages.remove(&number);
            }
            return Some(task);
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TASK: Task = Task {
        context: ContextId(7),
        within: Within { region: 0, task: 0 },
        creator: ThreadId(0),
        work: Nanos(0),
        is_divided: false,
        is_whole: false,
        whole: Instance::NONE,
    };

    #[test]
    fn tasks_that_never_complete_are_bounded() {
        let mut tasks = Tasks::default();
        let last = (GENERATION * PAGE) as u64 * 5 / 2;
        for id in 1..=last {
            tasks.create(Instance(id), TASK);
        }
        assert!(tasks.get(Instance(1)).is_none());
        assert!(tasks.young.len() + tasks.elder.len() <= 2 * GENERATION);
        let last = Instance(last);
        assert_eq!(tasks.complete(last).unwrap().context, ContextId(7));
        assert!(tasks.complete(last).is_none());
    }

    /// Of one page, of two, and of one in both generations.
    #[test]
    fn a_task_is_found_until_it_is_complete() {
        let mut tasks = Tasks::default();
        let (near, far) = (Instance(65), Instance(1 << 62));
        for id in [Instance(64), near, far] {
            tasks.create(id, TASK);
        }
        tasks.get_mut(near).unwrap().work = Nanos(5);
        tasks.elder = std::mem::take(&mut tasks.young);
        tasks.create(Instance(66), TASK);
        assert_eq!(tasks.complete(near).unwrap().work, Nanos(5));
        assert!(tasks.get(near).is_none());
        for id in [Instance(66), Instance(64), far] {
            assert!(tasks.complete(id).is_some(), "{id:?}");
        }
        assert!(tasks.young.is_empty() && tasks.elder.is_empty());
        // A page that is used again has no tasks of before.
        tasks.create(Instance(129), TASK);
        assert!(tasks.get(Instance(130)).is_none() && tasks.get(Instance(128)).is_none());
    }
}
