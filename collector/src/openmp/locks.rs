//! The counts of mutexes, as differences between two readings of the threads' tables.

use experiment::ids::{FrameId, LockId, Nanos, ProcessId, ThreadId};
use experiment::losses::{LossKind, Lost};
use experiment::rows::{LockSum, LockWait, SLICE};
use experiment::tables::{Lock, Mutex, Tables};
use omp_model::omp::LockWaits;
use omp_ring::consumer::Consumer;
use omp_ring::locks::{LockKey, LockView};
use rustc_hash::{FxHashMap, FxHashSet};

use super::events::{Inits, mutex};
use super::queue::Queue;
use crate::clock::Line;
use crate::stacks;
use processes::Processes;

/// The most mutexes that have a row of their own; others share one by kind.
const MOST: usize = 1 << 16;

/// The mutexes of all threads as read last.
#[derive(Default)]
pub(super) struct Locks {
    /// By slot and key.
    known: FxHashMap<(u32, LockKey), Known>,
    rows: Rows,
    /// What has been added since it was taken.
    added: Vec<LockSum>,
    /// Slots whose threads had no room for a mutex.
    full: FxHashSet<u32>,
    /// Threads that had none, and when that was seen.
    pub(super) lost: Lost,
    /// When the tables were read last, in nanoseconds since the start.
    looked_at: u64,
}

/// An entry of a thread's table as read last.
struct Known {
    call: FrameId,
    view: LockView,
}

/// The rows of mutexes, each with the call that initialised it.
type Rows = FxHashMap<(ProcessId, Mutex, u64), (FrameId, LockId)>;

/// What conversion to rows needs.
pub(super) struct Conversion<'a> {
    pub(super) tables: &'a mut Tables,
    pub(super) processes: &'a mut Processes,
    /// The locks that were initialised before `now`.
    pub(super) inits: &'a Inits,
    /// The time up to which events have been merged.
    pub(super) now: u64,
}

impl Locks {
    /// Reads the table of a slot that a thread has. What is new in it is only noted: a lock may have
    /// been initialised later than the merged events. With `all`, it is counted, too.
    pub(super) fn read(
        &mut self,
        arena: &Consumer,
        queue: &Queue,
        line: &Line,
        conversion: &mut Conversion<'_>,
        all: bool,
    ) {
        let Some(thread) = queue.thread else {
            return;
        };
        let (views, is_full) = arena.locks(queue.index);
        if is_full {
            let is_new = self.full.insert(queue.index);
            let when = (self.looked_at, conversion.now);
            self.lost.add(LossKind::Locks, when, is_new.into());
        }
        for view in views {
            let Some(kind) = mutex(view.key.mutex.kind) else {
                continue;
            };
            let mut is_new = false;
            let known = self.known.entry((queue.index, view.key));
            let known = known.or_insert_with(|| {
                is_new = true;
                Known {
                    call: conversion.call(queue.pid, view.key.code),
                    view: LockView::none(view.key),
                }
            });
            if is_new && !all {
                continue;
            }
            let Some(sum) = added(&known.view, &view, line) else {
                continue;
            };
            known.view = view;
            let lock = view.key.mutex.lock;
            let process = conversion.processes.process_of(thread);
            self.added.push(LockSum {
                slice: (conversion.now / SLICE.0) as u32,
                thread,
                lock: conversion.lock(&mut self.rows, (process, kind, lock)),
                call: known.call,
                ..sum
            });
        }
    }

    /// A slot is free for another thread.
    pub(super) fn forget(&mut self, slot: u32) {
        self.full.remove(&slot);
        self.known.retain(|(known, _), _| *known != slot);
    }

    /// The rows since the last call; it is `now`.
    pub(super) fn take(&mut self, now: u64) -> Vec<LockSum> {
        self.looked_at = now;
        std::mem::take(&mut self.added)
    }

    /// The rows of waits for mutexes.
    pub(super) fn waits(
        &mut self,
        waits: Vec<LockWaits>,
        conversion: &mut Conversion<'_>,
    ) -> Vec<LockWait> {
        let rows = waits.into_iter().map(|it| LockWait {
            lock: conversion.lock(&mut self.rows, (it.process, it.kind, it.lock.0)),
            waiter: it.waiter,
            holder: it.holder,
            count: it.count,
            time: it.time,
        });
        rows.collect()
    }
}

impl Conversion<'_> {
    /// The frame of a call, from its return address.
    fn call(&mut self, pid: i32, code: u64) -> FrameId {
        stacks::frame_of_call(self.tables, self.processes, pid, (code, self.now))
    }

    /// The row of a mutex. A lock that was initialised again at another place is another one.
    fn lock(&mut self, rows: &mut Rows, mutex: (ProcessId, Mutex, u64)) -> LockId {
        let (process, kind, address) = mutex;
        let pid = self.tables.processes.get(process.index());
        let pid = pid.map_or(0, |process| process.pid);
        let is_told = matches!(kind, Mutex::Lock | Mutex::NestLock | Mutex::Critical);
        let init = if is_told {
            self.inits.call(pid, address)
        } else {
            FrameId::NONE
        };
        match rows.get(&mutex) {
            Some(&(known, lock)) if known == init => return lock,
            None if rows.len() >= MOST => return self.tables.lock(Lock::of_several(process, kind)),
            _ => {}
        }
        let mut lock = Lock {
            address,
            init,
            ..Lock::of_several(process, kind)
        };
        let program = self.processes.program_at(pid, self.now);
        if let Some((program, objects)) = program
            && is_told
            && address != 0
        {
            lock.variable = program.variable(self.tables, objects, address);
        }
        let id = self.tables.lock(lock);
        rows.insert(mutex, (init, id));
        id
    }
}

/// What was added to an entry between two readings, without its place; `None` for nothing.
fn added(before: &LockView, view: &LockView, line: &Line) -> Option<LockSum> {
    let more = |count: fn(&LockView) -> u64| count(view).saturating_sub(count(before));
    let length = |ticks: u64| Nanos(line.length_ns(ticks));
    let acquisitions = more(|it| it.acquisitions);
    (acquisitions > 0).then(|| LockSum {
        slice: 0,
        thread: ThreadId(0),
        lock: LockId(0),
        call: FrameId::NONE,
        acquisitions,
        contended: more(|it| it.contended),
        wait: length(more(|it| it.wait)),
        held: length(more(|it| it.held)),
        longest: if view.longest > before.longest {
            length(view.longest)
        } else {
            Nanos(0)
        },
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::clock::Pair;
    use omp_ring::record::MutexPayload;

    #[test]
    fn a_reading_tells_what_was_added_since_the_one_before() {
        let line = Line::new(Pair {
            ticks: 0,
            raw_ns: 0,
        });
        let key = LockKey {
            mutex: MutexPayload {
                lock: 0x40,
                kind: 1,
            },
            code: 0x1000,
        };
        let first = LockView {
            acquisitions: 5,
            contended: 2,
            wait: 700,
            held: 900,
            longest: 400,
            ..LockView::none(key)
        };
        let sum = added(&LockView::none(key), &first, &line).expect("there is more");
        assert_eq!((sum.acquisitions, sum.contended), (5, 2));
        assert_eq!((sum.wait.0, sum.held.0, sum.longest.0), (700, 900, 400));
        let second = LockView {
            acquisitions: 6,
            held: 1_000,
            ..first
        };
        let sum = added(&first, &second, &line).expect("there is more");
        assert_eq!((sum.acquisitions, sum.contended), (1, 0));
        assert_eq!((sum.wait.0, sum.held.0, sum.longest.0), (0, 100, 0));
        assert_eq!(added(&second, &second, &line), None);
    }
}
