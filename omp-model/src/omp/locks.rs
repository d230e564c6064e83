//! Who holds which mutex, and who waits for it: directed blame.
//!
//! A thread that waits for a mutex depends on the thread that holds it, and if that one waits for
//! a mutex, on the holder of that mutex, and so on. The *dependents* of a thread are all threads
//! that depend on it. While it does not wait itself, [`TimeAccounting`] blames their waiting time
//! on it.
//!
//! When a mutex is released, the threads that wait for it go on waiting until one of them has
//! acquired it. The time of this handover is blamed on the releasing thread, in the thread state of
//! its release.
//!
//! Likewise, the waiting time in one call belongs to the calls by which the mutex was held meanwhile:
//! [`LockWaits`].

use experiment::ids::{FrameId, Nanos, ProcessId, ThreadId, ThreadStateId};
use rustc_hash::FxHashMap;

use super::accounting::TimeAccounting;
use crate::stream::{Lock, Mutex};

/// A mutex of the recording.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct LockId {
    pub(super) process: ProcessId,
    pub(super) kind: Mutex,
    /// The mutex; for `ordered`, which has one by team, also the region of the team.
    pub(super) lock: [u64; 2],
}

/// Index of a mutex. The indices of mutexes that no thread holds or waits for are reused.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct LockSlot(u32);

impl LockSlot {
    /// A mutex whose holder cannot be known.
    pub(super) const NONE: LockSlot = LockSlot(u32::MAX);
}

/// The accounting, and the time of the current event.
pub(super) struct AccountingNow<'a> {
    pub(super) accounting: &'a mut TimeAccounting,
    pub(super) time: Nanos,
}

/// Waits for a mutex in one call while it was held by another.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LockWaits {
    /// The process.
    pub process: ProcessId,
    /// The kind of mutex.
    pub kind: Mutex,
    /// The mutex.
    pub lock: Lock,
    /// The call that waits.
    pub waiter: FrameId,
    /// The call by which the mutex is held, or was until its last release; [`FrameId::NONE`] if
    /// unknown.
    pub holder: FrameId,
    /// The waits that began meanwhile.
    pub count: u64,
    /// How long they lasted meanwhile, in all.
    pub time: Nanos,
}

/// What is known of one mutex.
#[derive(Debug)]
struct MutexState {
    id: LockId,
    holder: Option<ThreadId>,
    /// How often the holder has acquired it: more than once if it is a nestable lock, of a runtime
    /// that reports each time.
    depth: u32,
    /// The number of threads that wait for it, and of their dependents.
    waiting: u32,
    /// Its last release, while no thread has acquired it since.
    released: Option<Release>,
    /// The call by which it was acquired last; [`FrameId::NONE`] if unknown.
    call: FrameId,
    /// The calls that wait for it, each with its threads.
    asking: Vec<(FrameId, u32)>,
    /// The time up to which their waits are accounted for.
    accounted: Nanos,
}

/// The release of a mutex for which others wait.
#[derive(Debug)]
struct Release {
    thread: ThreadId,
    thread_state: ThreadStateId,
    /// The time up to which the handover is accounted for.
    accounted: Nanos,
}

/// What is known of one thread.
#[derive(Debug)]
struct ThreadLocks {
    /// The mutex that it waits for. Chains of waits have no cycle.
    waits: Option<LockSlot>,
    /// The call that waits.
    call: FrameId,
    /// The number of its dependents.
    dependents: u32,
    holds: Vec<LockSlot>,
}

/// All mutexes, and the threads that hold or wait for them.
#[derive(Debug)]
pub(super) struct Locks {
    rows: Vec<MutexState>,
    by_id: FxHashMap<LockId, LockSlot>,
    free: Vec<LockSlot>,
    /// The mutex that was looked up last: the three events of a mutex mostly follow each other.
    last: Option<(LockId, LockSlot)>,
    /// The number of rows at which unused ones are collected.
    room: usize,
    /// By [`ThreadId`].
    threads: Vec<ThreadLocks>,
    /// Number and time of waits by mutex, waiting call and holding call, since they were taken last.
    waits: FxHashMap<(LockId, FrameId, FrameId), (u64, Nanos)>,
    /// Recording is paused: waits are not accounted for.
    paused: bool,
}

impl ThreadLocks {
    const NONE: ThreadLocks = ThreadLocks {
        waits: None,
        call: FrameId::NONE,
        dependents: 0,
        holds: Vec::new(),
    };
}

/// The least number of rows at which unused ones are collected.
const ROOM: usize = 4096;

/// The most mutexes that a thread is taken to hold: any number of release events may be missing.
const MOST_HELD: usize = 1024;

impl Locks {
    pub(super) fn new() -> Locks {
        Locks {
            rows: Vec::new(),
            by_id: FxHashMap::default(),
            free: Vec::new(),
            last: None,
            room: ROOM,
            threads: Vec::new(),
            waits: FxHashMap::default(),
            paused: false,
        }
    }

    /// Recording pauses: waits are accounted for until now.
    pub(super) fn pause(&mut self, now: &mut AccountingNow<'_>) {
        for slot in 0..self.rows.len() {
            self.account_handover(now, LockSlot(slot as u32));
        }
        self.paused = true;
    }

    /// Recording goes on: waits are accounted for from `time` on.
    pub(super) fn resume(&mut self, time: Nanos) {
        for row in &mut self.rows {
            row.accounted = time;
            if let Some(release) = &mut row.released {
                release.accounted = time;
            }
        }
        self.paused = false;
    }

    /// The waits since the last call. They are accounted for up to `time`.
    pub(super) fn take_waits(&mut self, time: Nanos) -> Vec<LockWaits> {
        for slot in 0..self.rows.len() {
            self.account_waits(time, LockSlot(slot as u32));
        }
        let waits = std::mem::take(&mut self.waits).into_iter();
        let waits = waits.map(|((id, waiter, holder), (count, time))| LockWaits {
            process: id.process,
            kind: id.kind,
            lock: Lock(id.lock[0]),
            waiter,
            holder,
            count,
            time,
        });
        waits.collect()
    }

    /// The index of a mutex, new or known.
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
        let row = MutexState {
            id,
            holder: None,
            depth: 0,
            waiting: 0,
            released: None,
            call: FrameId::NONE,
            asking: Vec::new(),
            accounted: Nanos(0),
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

    /// Collects unused rows; if they are few, makes room for more.
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

    /// The thread waits for the mutex in this call, unless its holder waits for this thread.
    pub(super) fn wait(
        &mut self,
        now: &mut AccountingNow<'_>,
        thread: ThreadId,
        (slot, call): (LockSlot, FrameId),
    ) {
        if slot == LockSlot::NONE || self.leads_to(slot, thread) {
            return;
        }
        let locks = self.thread(thread);
        (locks.waits, locks.call) = (Some(slot), call);
        let more = 1 + locks.dependents;
        self.add(now, slot, |waiting| waiting + more);
        let row = &mut self.rows[slot.0 as usize];
        match row.asking.iter_mut().find(|asking| asking.0 == call) {
            Some((_, threads)) => *threads += 1,
            None => row.asking.push((call, 1)),
        }
        if !self.paused {
            self.waits
                .entry((row.id, call, row.call))
                .or_insert((0, Nanos(0)))
                .0 += 1;
        }
    }

    /// The thread does not wait for a mutex any more.
    #[inline]
    pub(super) fn wait_is_over(&mut self, now: &mut AccountingNow<'_>, thread: ThreadId) {
        let Some(locks) = self.threads.get_mut(thread.index()) else {
            return;
        };
        if let Some(slot) = locks.waits.take() {
            let (less, call) = (1 + locks.dependents, locks.call);
            self.add(now, slot, |waiting| waiting.saturating_sub(less));
            let asking = &mut self.rows[slot.0 as usize].asking;
            if let Some(at) = asking.iter().position(|asking| asking.0 == call) {
                asking[at].1 -= 1;
                if asking[at].1 == 0 {
                    asking.swap_remove(at);
                }
            }
        }
    }

    /// Whether the thread is known to wait for a mutex.
    #[inline]
    pub(super) fn waits(&self, thread: ThreadId) -> bool {
        let locks = self.threads.get(thread.index());
        locks.is_some_and(|locks| locks.waits.is_some())
    }

    /// The thread, which waits for nothing, acquires the mutex by this call.
    pub(super) fn hold(
        &mut self,
        now: &mut AccountingNow<'_>,
        thread: ThreadId,
        (slot, call): (LockSlot, FrameId),
    ) {
        if slot == LockSlot::NONE {
            return;
        }
        let row = &mut self.rows[slot.0 as usize];
        if row.holder == Some(thread) {
            row.depth += u32::from(row.id.kind == Mutex::NestLock);
            return;
        }
        self.clear_holder(now, slot);
        let row = &mut self.rows[slot.0 as usize];
        row.holder = Some(thread);
        row.depth = 1;
        row.released = None;
        row.call = call;
        let more = row.waiting;
        let locks = self.thread(thread);
        locks.holds.push(slot);
        let all = locks.dependents + more;
        let many = locks.holds.len() > MOST_HELD;
        self.depend(now, thread, all);
        if many {
            let oldest = self.thread(thread).holds[0];
            self.clear_holder(now, oldest);
        }
    }

    /// The thread releases the mutex in the thread state `thread_state`; `None` for one that takes
    /// no blame.
    pub(super) fn release(
        &mut self,
        now: &mut AccountingNow<'_>,
        thread: ThreadId,
        thread_state: Option<ThreadStateId>,
        slot: LockSlot,
    ) {
        let Some(row) = self.rows.get_mut(slot.0 as usize) else {
            return;
        };
        // The event of the next holder may come before that of the release.
        if row.holder != Some(thread) {
            return;
        }
        row.depth = row.depth.saturating_sub(1);
        if row.depth > 0 {
            return;
        }
        self.clear_holder(now, slot);
        let row = &mut self.rows[slot.0 as usize];
        row.released = thread_state
            .filter(|_| row.waiting > 0)
            .map(|thread_state| Release {
                thread,
                thread_state,
                accounted: now.time,
            });
    }

    /// The thread has held the mutex a few times, shortly, by this call, in the thread state
    /// `thread_state`. If others wait for it and nobody is known to hold it, this thread has kept them
    /// waiting.
    pub(super) fn held_shortly(
        &mut self,
        now: &mut AccountingNow<'_>,
        thread: ThreadId,
        thread_state: ThreadStateId,
        (slot, call): (LockSlot, FrameId),
    ) {
        let Some(row) = self.rows.get(slot.0 as usize) else {
            return;
        };
        if row.holder.is_some() || row.waiting == 0 {
            return;
        }
        self.account_handover(now, slot);
        let row = &mut self.rows[slot.0 as usize];
        row.call = call;
        row.released = Some(Release {
            thread,
            thread_state,
            accounted: now.time,
        });
    }

    /// Forgets what the thread waits for and holds.
    pub(super) fn forget(&mut self, now: &mut AccountingNow<'_>, thread: ThreadId) {
        self.wait_is_over(now, thread);
        while let Some(&slot) = self
            .threads
            .get(thread.index())
            .and_then(|locks| locks.holds.last())
        {
            self.clear_holder(now, slot);
        }
    }

    /// No thread holds the mutex from now on.
    fn clear_holder(&mut self, now: &mut AccountingNow<'_>, slot: LockSlot) {
        self.account_handover(now, slot);
        let row = &mut self.rows[slot.0 as usize];
        let Some(holder) = row.holder.take() else {
            return;
        };
        let less = row.waiting;
        let locks = self.thread(holder);
        if let Some(at) = locks.holds.iter().rposition(|&held| held == slot) {
            locks.holds.remove(at);
        }
        self.change(now, holder, |dependents| dependents.saturating_sub(less));
    }

    /// Changes the number of threads that wait for the mutex.
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
            row.released = None;
        }
        if let Some(holder) = row.holder {
            self.change(now, holder, change);
        }
    }

    /// Changes the number of dependents of this thread, and of those on which it depends.
    fn change(
        &mut self,
        now: &mut AccountingNow<'_>,
        thread: ThreadId,
        change: impl Fn(u32) -> u32,
    ) {
        let mut next = Some(thread);
        while let Some(thread) = next {
            let locks = self.thread(thread);
            let (all, waits) = (change(locks.dependents), locks.waits);
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
        self.thread(thread).dependents = all;
        now.accounting.dependents(thread, now.time, all);
    }

    /// Accounts for the waits until now: those of a handover are blamed on the last release.
    #[inline]
    fn account_handover(&mut self, now: &mut AccountingNow<'_>, slot: LockSlot) {
        self.account_waits(now.time, slot);
        let row = &mut self.rows[slot.0 as usize];
        if let Some(release) = &mut row.released {
            let since = std::mem::replace(&mut release.accounted, now.time);
            let (thread, thread_state) = (release.thread, release.thread_state);
            now.accounting
                .blame(thread, thread_state, since, now.time, row.waiting);
        }
    }

    /// Adds the waits until `time` to those for the call by which the mutex was acquired last.
    #[inline]
    fn account_waits(&mut self, time: Nanos, slot: LockSlot) {
        let row = &mut self.rows[slot.0 as usize];
        let since = std::mem::replace(&mut row.accounted, time);
        if self.paused {
            return;
        }
        for &(call, threads) in &row.asking {
            let sum = self.waits.entry((row.id, call, row.call));
            sum.or_insert((0, Nanos(0))).1.0 += u64::from(threads) * time.since(since).0;
        }
    }

    /// Whether waiting for the mutex means waiting for the thread.
    fn leads_to(&self, slot: LockSlot, thread: ThreadId) -> bool {
        let mut next = Some(slot);
        while let Some(slot) = next {
            let holder = self.rows[slot.0 as usize].holder;
            if holder == Some(thread) {
                return true;
            }
            next = holder.and_then(|holder| self.threads.get(holder.index())?.waits);
        }
        false
    }

    fn thread(&mut self, thread: ThreadId) -> &mut ThreadLocks {
        let index = thread.index();
        if self.threads.len() <= index {
            self.threads.resize_with(index + 1, || ThreadLocks::NONE);
        }
        &mut self.threads[index]
    }

    /// The number of rows.
    #[cfg(test)]
    pub(super) fn rows(&self) -> usize {
        self.rows.len()
    }

    /// Whether the dependents of every thread are those that wait for what it holds.
    #[cfg(test)]
    pub(super) fn is_consistent(&self) -> bool {
        let waiting = |slot: LockSlot| -> u32 {
            let waits = self
                .threads
                .iter()
                .filter(|locks| locks.waits == Some(slot));
            waits.map(|locks| 1 + locks.dependents).sum()
        };
        let rows = self.rows.iter().zip(0..);
        let mut rows = rows.map(|(row, at)| (row, LockSlot(at)));
        let held = |locks: &ThreadLocks| -> u32 {
            let rows = locks.holds.iter().map(|slot| &self.rows[slot.0 as usize]);
            rows.map(|row| row.waiting).sum()
        };
        rows.all(|(row, slot)| row.waiting == waiting(slot))
            && self
                .threads
                .iter()
                .all(|locks| locks.dependents == held(locks))
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
