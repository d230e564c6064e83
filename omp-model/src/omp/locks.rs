//! Who holds which mutex, and who waits for it: directed blame.
//!
//! A thread that waits for a mutex waits for the thread that holds it, and so for whom that thread
//! waits for in turn. So each thread has *dependents*: all that wait for it, at first or second
//! hand. While it is at work the [`TimeAccounting`] adds up their waiting time beside its own.
//!
//! When a mutex is given back, those that wait for it go on waiting until one of them has it. That
//! is the time that handing over takes, and is charged to where the thread was that gave it back.

use experiment::ids::{Nanos, ProcessId, ThreadId, ThreadStateId};
use rustc_hash::FxHashMap;

use super::accounting::TimeAccounting;
use crate::stream::{Lock, Mutex};

/// A mutex of the recording.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct LockId {
    pub(super) process: ProcessId,
    pub(super) kind: Mutex,
    /// Two words, since the turn of an ordered loop is one by its team.
    pub(super) lock: [u64; 2],
}

/// Index of a mutex's row; rows of those that nobody holds or waits for are used again.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct LockSlot(u32);

impl LockSlot {
    /// Nobody is known to hold it.
    pub(super) const NONE: LockSlot = LockSlot(u32::MAX);
}

/// Where waiting for mutexes is accounted for, and when.
pub(super) struct AccountingNow<'a> {
    pub(super) accounting: &'a mut TimeAccounting,
    pub(super) time: Nanos,
}

/// What is known of one mutex.
#[derive(Debug)]
struct Row {
    id: LockId,
    holder: Option<ThreadId>,
    /// How often the holder has got it: a nestable lock of a runtime that tells each time.
    depth: u32,
    /// Threads that wait for it, and their dependents.
    waiting: u32,
    /// Where it was given back, while others wait for it that do not have it yet, and up to when
    /// their time is charged there.
    left: Option<(ThreadId, ThreadStateId, Nanos)>,
}

/// What is known of one thread.
#[derive(Debug, Default)]
struct Node {
    /// The mutex that it waits for. Whoever it waits for does not wait for it: the chain ends.
    waits: Option<LockSlot>,
    /// Threads that wait for it, at first or second hand.
    dependents: u32,
    holds: Vec<LockSlot>,
}

/// All of them.
#[derive(Debug)]
pub(super) struct Locks {
    rows: Vec<Row>,
    by_id: FxHashMap<LockId, LockSlot>,
    free: Vec<LockSlot>,
    /// The one that was looked up last: mostly the three events of a mutex come in a row.
    last: Option<(LockId, LockSlot)>,
    /// So many rows are used before unused ones are looked for.
    room: usize,
    /// By [`ThreadId`].
    nodes: Vec<Node>,
}

/// Rows that are kept whether anyone holds or wants them or not.
const ROOM: usize = 4096;

/// A thread holds no more than so many: of ends that never come there may be any number.
const MOST_HELD: usize = 1024;

impl Locks {
    pub(super) fn new() -> Locks {
        Locks {
            rows: Vec::new(),
            by_id: FxHashMap::default(),
            free: Vec::new(),
            last: None,
            room: ROOM,
            nodes: Vec::new(),
        }
    }

    /// The row of a mutex, made now if there is none.
    #[inline]
    pub(super) fn slot(&mut self, id: LockId) -> LockSlot {
        match self.last {
            Some((last, slot)) if last == id => slot,
            _ => {
                let slot = self.look_up(id);
                self.last = Some((id, slot));
                slot
            }
        }
    }

    fn look_up(&mut self, id: LockId) -> LockSlot {
        if let Some(&known) = self.by_id.get(&id) {
            return known;
        }
        if self.free.is_empty() && self.rows.len() >= self.room {
            self.sweep();
        }
        let row = Row {
            id,
            holder: None,
            depth: 0,
            waiting: 0,
            left: None,
        };
        let slot = match self.free.pop() {
            Some(slot) => {
                self.rows[slot.0 as usize] = row;
                slot
            }
            None => {
                self.rows.push(row);
                LockSlot(self.rows.len() as u32 - 1)
            }
        };
        self.by_id.insert(id, slot);
        slot
    }

    /// Finds the rows that nobody needs; if they are few, makes room for more.
    #[cold]
    fn sweep(&mut self) {
        for (at, row) in self.rows.iter().enumerate() {
            if row.holder.is_none() && row.waiting == 0 {
                self.by_id.remove(&row.id);
                self.free.push(LockSlot(at as u32));
            }
        }
        if self.free.len() * 2 < self.rows.len() {
            self.room = self.rows.len() * 2;
        }
    }

    /// The thread waits for the mutex, unless it is in its own way.
    pub(super) fn wait(&mut self, now: &mut AccountingNow<'_>, thread: ThreadId, slot: LockSlot) {
        if slot == LockSlot::NONE || self.leads_to(slot, thread) {
            return;
        }
        let node = self.node(thread);
        node.waits = Some(slot);
        let more = 1 + node.dependents;
        self.add(now, slot, |waiting| waiting + more);
    }

    /// It waits no more.
    #[inline]
    pub(super) fn wait_is_over(&mut self, now: &mut AccountingNow<'_>, thread: ThreadId) {
        let Some(node) = self.nodes.get_mut(thread.index()) else {
            return;
        };
        if let Some(slot) = node.waits.take() {
            let less = 1 + node.dependents;
            self.add(now, slot, |waiting| waiting.saturating_sub(less));
        }
    }

    /// Whether the thread is known to wait for a mutex.
    #[inline]
    pub(super) fn waits(&self, thread: ThreadId) -> bool {
        let node = self.nodes.get(thread.index());
        node.is_some_and(|node| node.waits.is_some())
    }

    /// The thread, which waits for nothing, has the mutex.
    pub(super) fn hold(&mut self, now: &mut AccountingNow<'_>, thread: ThreadId, slot: LockSlot) {
        if slot == LockSlot::NONE {
            return;
        }
        let row = &mut self.rows[slot.0 as usize];
        if row.holder == Some(thread) {
            row.depth += u32::from(row.id.kind == Mutex::NestLock);
            return;
        }
        self.part(now, slot);
        let row = &mut self.rows[slot.0 as usize];
        row.holder = Some(thread);
        row.depth = 1;
        row.left = None;
        let more = row.waiting;
        let node = self.node(thread);
        node.holds.push(slot);
        let all = node.dependents + more;
        let many = node.holds.len() > MOST_HELD;
        self.depend(now, thread, all);
        if many {
            let oldest = self.node(thread).holds[0];
            self.part(now, oldest);
        }
    }

    /// The thread gives the mutex back, at what `thread_state` says.
    pub(super) fn release(
        &mut self,
        now: &mut AccountingNow<'_>,
        (thread, thread_state): (ThreadId, ThreadStateId),
        slot: LockSlot,
    ) {
        let Some(row) = self.rows.get_mut(slot.0 as usize) else {
            return;
        };
        // Another thread may have it before this one says so.
        if row.holder != Some(thread) {
            return;
        }
        row.depth = row.depth.saturating_sub(1);
        if row.depth > 0 {
            return;
        }
        self.part(now, slot);
        let row = &mut self.rows[slot.0 as usize];
        row.left = (row.waiting > 0).then_some((thread, thread_state, now.time));
    }

    /// What the thread waits for and holds is not known any more.
    pub(super) fn forget(&mut self, now: &mut AccountingNow<'_>, thread: ThreadId) {
        self.wait_is_over(now, thread);
        while let Some(&slot) = self
            .nodes
            .get(thread.index())
            .and_then(|node| node.holds.last())
        {
            self.part(now, slot);
        }
    }

    /// Nobody holds the mutex from now on.
    fn part(&mut self, now: &mut AccountingNow<'_>, slot: LockSlot) {
        self.account_handover(now, slot);
        let row = &mut self.rows[slot.0 as usize];
        let Some(holder) = row.holder.take() else {
            return;
        };
        let less = row.waiting;
        let node = self.node(holder);
        if let Some(at) = node.holds.iter().rposition(|&held| held == slot) {
            node.holds.remove(at);
        }
        self.change(now, holder, |dependents| dependents.saturating_sub(less));
    }

    /// Another number of threads waits for the mutex.
    fn add(
        &mut self,
        now: &mut AccountingNow<'_>,
        slot: LockSlot,
        change: impl Fn(u32) -> u32 + Copy,
    ) {
        self.account_handover(now, slot);
        let row = &mut self.rows[slot.0 as usize];
        row.waiting = change(row.waiting);
        if row.waiting == 0 {
            row.left = None;
        }
        if let Some(holder) = row.holder {
            self.change(now, holder, change);
        }
    }

    /// Another number of threads waits for this one, and for whom it waits for.
    fn change(
        &mut self,
        now: &mut AccountingNow<'_>,
        thread: ThreadId,
        change: impl Fn(u32) -> u32,
    ) {
        let mut next = Some(thread);
        while let Some(thread) = next {
            let node = self.node(thread);
            let (all, waits) = (change(node.dependents), node.waits);
            self.depend(now, thread, all);
            next = waits.and_then(|slot| {
                self.account_handover(now, slot);
                let row = &mut self.rows[slot.0 as usize];
                row.waiting = change(row.waiting);
                row.holder
            });
        }
    }

    fn depend(&mut self, now: &mut AccountingNow<'_>, thread: ThreadId, all: u32) {
        self.node(thread).dependents = all;
        now.accounting.dependents(thread, now.time, all);
    }

    /// Charges the handing over until now.
    #[inline]
    fn account_handover(&mut self, now: &mut AccountingNow<'_>, slot: LockSlot) {
        let row = &mut self.rows[slot.0 as usize];
        if let Some((thread, thread_state, since)) = &mut row.left {
            let span = (*since, now.time);
            *since = now.time;
            now.accounting
                .blame((*thread, *thread_state), span, row.waiting);
        }
    }

    /// Whether who waits for the mutex waits for the thread.
    fn leads_to(&self, slot: LockSlot, thread: ThreadId) -> bool {
        let mut next = Some(slot);
        while let Some(slot) = next {
            let holder = self.rows[slot.0 as usize].holder;
            if holder == Some(thread) {
                return true;
            }
            next = holder.and_then(|holder| self.nodes.get(holder.index())?.waits);
        }
        false
    }

    fn node(&mut self, thread: ThreadId) -> &mut Node {
        let index = thread.index();
        if self.nodes.len() <= index {
            self.nodes.resize_with(index + 1, Node::default);
        }
        &mut self.nodes[index]
    }

    /// Rows in use or kept, for tests.
    #[cfg(test)]
    pub(super) fn rows(&self) -> usize {
        self.rows.len()
    }

    /// Whether every thread's dependents are those that wait for what it holds.
    #[cfg(test)]
    pub(super) fn is_consistent(&self) -> bool {
        let waiting = |slot: LockSlot| -> u32 {
            let waits = self.nodes.iter().filter(|node| node.waits == Some(slot));
            waits.map(|node| 1 + node.dependents).sum()
        };
        let rows = self.rows.iter().zip(0..);
        let mut rows = rows.map(|(row, at)| (row, LockSlot(at)));
        let held = |node: &Node| -> u32 {
            let rows = node.holds.iter().map(|slot| &self.rows[slot.0 as usize]);
            rows.map(|row| row.waiting).sum()
        };
        rows.all(|(row, slot)| row.waiting == waiting(slot))
            && self.nodes.iter().all(|node| node.dependents == held(node))
    }
}

impl LockId {
    /// `team` is the region instance of the innermost team.
    pub(super) fn new(process: ProcessId, kind: Mutex, lock: Lock, team: u64) -> LockId {
        let team = if kind == Mutex::Ordered { team } else { 0 };
        LockId {
            process,
            kind,
            lock: [lock.0, team],
        }
    }
}
