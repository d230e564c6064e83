//! Explicit tasks: their numbers, groups and dependences.

use hashbrown::HashMap;
use ompt::numbers::dependence::{IN, MUTEXINOUTSET};

use crate::strands::StrandId;

/// A taskgroup.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct GroupId(u32);

/// A task.
#[derive(Debug)]
struct Task {
    strand: StrandId,
    is_undeferred: bool,
    group: Option<GroupId>,
    /// Variables for which it excludes its siblings (`mutexinoutset`).
    exclusions: Vec<u64>,
}

/// All tasks by number.
#[derive(Debug, Default)]
pub struct Tasks {
    tasks: HashMap<u64, Task>,
    groups: HashMap<GroupId, Vec<StrandId>>,
    groups_begun: u32,
}

impl Tasks {
    /// A task is created, in this group.
    pub fn begin(
        &mut self,
        task: u64,
        strand: StrandId,
        is_undeferred: bool,
        group: Option<GroupId>,
    ) {
        if let Some(members) = group.and_then(|group| self.groups.get_mut(&group)) {
            members.push(strand);
        }
        self.tasks.insert(
            task,
            Task {
                strand,
                is_undeferred,
                group,
                exclusions: Vec::new(),
            },
        );
    }

    /// The task's strand.
    pub fn strand(&self, task: u64) -> Option<StrandId> {
        self.tasks.get(&task).map(|task| task.strand)
    }

    /// Whether its creator waits for it.
    pub fn is_undeferred(&self, task: u64) -> bool {
        self.tasks.get(&task).is_some_and(|task| task.is_undeferred)
    }

    /// The group in which it was created.
    pub fn group(&self, task: u64) -> Option<GroupId> {
        self.tasks.get(&task).and_then(|task| task.group)
    }

    /// The task excludes others that say so of the same variable.
    pub fn exclude(&mut self, task: u64, address: u64) {
        if let Some(task) = self.tasks.get_mut(&task) {
            task.exclusions.push(address);
        }
    }

    /// The variables for which the task excludes others.
    pub fn exclusions(&self, task: u64) -> &[u64] {
        self.tasks.get(&task).map_or(&[], |task| &task.exclusions)
    }

    /// A taskgroup begins.
    pub fn begin_group(&mut self) -> GroupId {
        self.groups_begun += 1;
        let group = GroupId(self.groups_begun);
        self.groups.insert(group, Vec::new());
        group
    }

    /// It ends: all tasks created in it, and by them, have ended.
    pub fn end_group(&mut self, group: GroupId) -> Vec<StrandId> {
        self.groups.remove(&group).unwrap_or_default()
    }

    /// Tasks whose strand is gone are no longer known.
    pub fn retain(&mut self, is_alive: impl Fn(StrandId) -> bool) {
        self.tasks.retain(|_, task| is_alive(task.strand));
    }
}

/// The last tasks that depend on a variable.
#[derive(Debug, Default)]
struct Dependents {
    /// The set that later tasks come after, and its kind.
    last: Vec<StrandId>,
    kind: u8,
    /// What the tasks of `last` came after.
    before: Vec<StrandId>,
}

/// A task's children.
#[derive(Debug, Default)]
pub struct Siblings {
    /// Those that it has not waited for.
    pub children: Vec<StrandId>,
    /// The taskgroups that it has begun, innermost last.
    pub groups: Vec<GroupId>,
    /// The taskgroup in which it was created itself.
    pub inherited: Option<GroupId>,
    dependents: HashMap<u64, Dependents>,
    /// The last that depends on all memory.
    of_all: Option<StrandId>,
}

const INOUTSET: u8 = 7;
const OUT_ALL_MEMORY: u8 = 34;
const INOUT_ALL_MEMORY: u8 = 35;

impl Siblings {
    /// The children, which have been waited for.
    pub fn take_children(&mut self) -> Vec<StrandId> {
        std::mem::take(&mut self.children)
    }

    /// A barrier: all children have ended.
    pub fn forget(&mut self) {
        self.children.clear();
        self.dependents.clear();
        self.of_all = None;
    }

    /// The innermost taskgroup.
    pub fn group(&self) -> Option<GroupId> {
        self.groups.last().copied().or(self.inherited)
    }

    /// The child depends on a variable in this way. Returns the siblings that it comes after, and
    /// whether it excludes the others of its kind.
    ///
    /// Siblings of one kind of `in`, `mutexinoutset` or `inoutset` have no order; a sibling of
    /// another kind comes after all of them. One that depends on all memory comes after all that depend
    /// on anything, and before the later ones.
    pub fn depend(&mut self, child: StrandId, address: u64, kind: u8) -> (Vec<StrandId>, bool) {
        if matches!(kind, OUT_ALL_MEMORY | INOUT_ALL_MEMORY) {
            let before = std::mem::take(&mut self.dependents);
            let before = before.into_values().flat_map(|it| it.last);
            let before = before.chain(self.of_all.replace(child));
            return (before.filter(|it| *it != child).collect(), false);
        }
        if self.of_all == Some(child) {
            return (Vec::new(), false);
        }
        let of_all = self.of_all;
        let dependents = self
            .dependents
            .entry(address)
            .or_insert_with(|| Dependents {
                last: Vec::from_iter(of_all),
                ..Dependents::default()
            });
        let is_set = matches!(kind, IN | MUTEXINOUTSET | INOUTSET);
        if !(is_set && dependents.kind == kind) {
            dependents.before = std::mem::take(&mut dependents.last);
            dependents.kind = kind;
        }
        dependents.last.push(child);
        (dependents.before.clone(), kind == MUTEXINOUTSET)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dependences_order_siblings_of_different_kinds() {
        const OUT: u8 = 2;
        let mut siblings = Siblings::default();
        let mut before = |child: u32, kind| {
            let (before, exclusive) = siblings.depend(StrandId(child), 8, kind);
            let before: Vec<u32> = before.iter().map(|strand| strand.0).collect();
            (before, exclusive)
        };
        assert_eq!(before(1, OUT), (vec![], false));
        assert_eq!(before(2, IN), (vec![1], false));
        assert_eq!(before(3, IN), (vec![1], false));
        assert_eq!(before(4, MUTEXINOUTSET), (vec![2, 3], true));
        assert_eq!(before(5, MUTEXINOUTSET), (vec![2, 3], true));
        assert_eq!(before(6, OUT), (vec![4, 5], false));
        assert_eq!(before(7, OUT), (vec![6], false));
    }

    #[test]
    fn a_dependence_on_all_memory_orders_all_that_depend_on_anything() {
        const INOUT: u8 = 3;
        let mut siblings = Siblings::default();
        let mut before = |child: u32, address, kind| {
            let (before, _) = siblings.depend(StrandId(child), address, kind);
            let mut before: Vec<u32> = before.iter().map(|strand| strand.0).collect();
            before.sort_unstable();
            before
        };
        assert_eq!(before(1, 8, INOUT), []);
        assert_eq!(before(2, 16, IN), []);
        // It depends on a variable, too.
        assert_eq!(before(3, 8, IN), [1]);
        assert_eq!(before(3, 0, INOUT_ALL_MEMORY), [2]);
        assert_eq!(before(4, 8, IN), [3]);
        assert_eq!(before(5, 8, INOUT), [4]);
        assert_eq!(before(6, 0, OUT_ALL_MEMORY), [3, 5]);
        assert_eq!(before(6, 8, IN), []);
        assert_eq!(before(7, 24, IN), [6]);
    }

    #[test]
    fn a_group_has_the_tasks_created_in_it() {
        let mut tasks = Tasks::default();
        let group = tasks.begin_group();
        tasks.begin(1, StrandId(1), false, Some(group));
        tasks.begin(2, StrandId(2), false, None);
        tasks.begin(3, StrandId(3), true, tasks.group(1));
        assert_eq!(tasks.end_group(group), [StrandId(1), StrandId(3)]);
        assert!(tasks.is_undeferred(3) && !tasks.is_undeferred(1));
    }
}
