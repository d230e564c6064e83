//! A thread's worksharing loops, sections, singles and taskloops: sums by construct, in a
//! [table](crate::table).
//!
//! A program may enter a loop a million times a second, and get a chunk of it twenty million times. No
//! record tells of that.

use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering::{Acquire, Relaxed, Release};

use crate::table::{Count, ENTRIES, Entry, Table};

/// What distinguishes a thread's loops: the call that begins the loop, and its schedule.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct LoopKey(u64);

impl LoopKey {
    /// Of a call with this return address, of 48 bits, and a [`Schedule`].
    #[inline]
    pub const fn new(code: u64, schedule: Schedule) -> LoopKey {
        LoopKey(code << 16 | schedule.0 as u64)
    }

    /// The return address of the call.
    pub const fn code(self) -> u64 {
        self.0 >> 16
    }

    /// The kind and its modifiers.
    pub const fn schedule(self) -> Schedule {
        Schedule(self.0 as u16)
    }
}

/// The kind of a loop's schedule, or of a construct that is no loop, with modifiers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Schedule(pub u16);

impl Schedule {
    /// `schedule(static)`: one part for each thread.
    pub const STATIC: Schedule = Schedule(1);
    /// `schedule(static, chunk)`.
    pub const STATIC_CHUNKED: Schedule = Schedule(2);
    /// `schedule(dynamic)`.
    pub const DYNAMIC: Schedule = Schedule(3);
    /// `schedule(guided)`.
    pub const GUIDED: Schedule = Schedule(4);
    /// `schedule(auto)`.
    pub const AUTO: Schedule = Schedule(5);
    /// `schedule(runtime)`.
    pub const RUNTIME: Schedule = Schedule(6);
    /// `distribute`, with any schedule.
    pub const DISTRIBUTE: Schedule = Schedule(7);
    /// `sections`.
    pub const SECTIONS: Schedule = Schedule(8);
    /// `single`.
    pub const SINGLE: Schedule = Schedule(9);
    /// `taskloop`.
    pub const TASKLOOP: Schedule = Schedule(10);
    /// A modifier: the loop has an `ordered` clause.
    pub const ORDERED: u16 = 1 << 8;
    /// A modifier of a taskloop: [`LoopEntry::chunk`] is the number of tasks, not of iterations of one.
    pub const NUM_TASKS: u16 = 1 << 9;

    /// A taskloop with a `grainsize`, or with a number of tasks.
    pub const fn taskloop(has_number: bool) -> Schedule {
        if has_number {
            Schedule(Schedule::TASKLOOP.0 | Schedule::NUM_TASKS)
        } else {
            Schedule::TASKLOOP
        }
    }

    /// With the `ordered` clause.
    #[must_use]
    pub const fn ordered(self) -> Schedule {
        Schedule(self.0 | Schedule::ORDERED)
    }
}

/// The sums of one loop of one thread.
#[derive(Debug, Default)]
#[repr(C, align(64))]
pub struct LoopEntry {
    /// A [`LoopKey`]; 0: free.
    key: AtomicU64,
    /// The chunk's length in iterations as the program gave it last; 0 if it gave none.
    pub chunk: Count,
    /// How often the thread came to the construct.
    pub instances: Count,
    /// Iterations that it executed; sections; for a single, how often it was the one.
    pub iterations: Count,
    /// Pieces that it got of the loop; for a taskloop, unknown.
    pub chunks: Count,
    /// Time from its begin to its end, in units of the clock.
    pub time: Count,
    /// Time of those calls for a chunk that were measured, in units of the clock.
    pub calls_time: Count,
    /// Their number. All calls of a loop are one more than its chunks.
    pub calls: Count,
}

/// An entry as read: its fields are those of [`LoopEntry`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LoopView {
    /// The call and the schedule.
    pub key: LoopKey,
    /// See [`LoopEntry::chunk`].
    pub chunk: u64,
    /// See [`LoopEntry::instances`].
    pub instances: u64,
    /// See [`LoopEntry::iterations`].
    pub iterations: u64,
    /// See [`LoopEntry::chunks`].
    pub chunks: u64,
    /// See [`LoopEntry::time`].
    pub time: u64,
    /// See [`LoopEntry::calls_time`].
    pub calls_time: u64,
    /// See [`LoopEntry::calls`].
    pub calls: u64,
}

impl LoopView {
    /// Of a loop of which nothing was counted yet.
    pub const fn none(key: LoopKey) -> LoopView {
        LoopView {
            key,
            chunk: 0,
            instances: 0,
            iterations: 0,
            chunks: 0,
            time: 0,
            calls_time: 0,
            calls: 0,
        }
    }
}

impl LoopEntry {
    /// What it holds; `None` if it is free.
    fn view(&self) -> Option<LoopView> {
        let key = self.key.load(Acquire);
        (key != 0).then(|| LoopView {
            key: LoopKey(key),
            chunk: self.chunk.get(),
            instances: self.instances.get(),
            iterations: self.iterations.get(),
            chunks: self.chunks.get(),
            time: self.time.get(),
            calls_time: self.calls_time.get(),
            calls: self.calls.get(),
        })
    }
}

impl Entry for LoopEntry {
    type Key = LoopKey;

    const PROBES: usize = ENTRIES;

    #[inline]
    fn hash(key: LoopKey) -> u64 {
        key.0
    }

    #[inline]
    fn has(&self, key: LoopKey) -> bool {
        self.key.load(Relaxed) == key.0
    }

    fn is_free(&self) -> bool {
        self.key.load(Relaxed) == 0
    }

    fn take(&self, key: LoopKey) {
        self.key.store(key.0, Release);
    }

    fn clear(&self) {
        for count in [
            &self.chunk,
            &self.instances,
            &self.iterations,
            &self.chunks,
            &self.time,
            &self.calls_time,
            &self.calls,
        ] {
            count.set(0);
        }
        self.key.store(0, Relaxed);
    }
}

/// A thread's loops.
pub(crate) type LoopTable = Table<LoopEntry>;

impl LoopTable {
    /// The entries in use.
    pub(crate) fn views(&self) -> impl Iterator<Item = LoopView> {
        self.entries().filter_map(LoopEntry::view)
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::AtomicU32;

    use super::*;

    #[test]
    fn each_loop_has_an_entry_until_the_table_is_full() {
        let (table, asked) = (LoopTable::default(), AtomicU32::new(0));
        let key = |code| LoopKey::new(code, Schedule::DYNAMIC);
        for round in 1..=3 {
            for code in 1..=ENTRIES as u64 {
                let entry = table.entry(key(code * 64), &asked).expect("there is room");
                entry.instances.add(code);
            }
            assert_eq!(asked.load(Relaxed) as usize, ENTRIES);
            for view in table.views() {
                assert_eq!(view.key.schedule(), Schedule::DYNAMIC);
                assert_eq!(view.instances, round * view.key.code() / 64);
            }
        }
        assert!(table.entry(key(7), &asked).is_none());
        assert!(asked.load(Relaxed) as usize > ENTRIES);
        table.clear(&asked);
        assert_eq!((table.views().count(), asked.load(Relaxed)), (0, 0));
        let other = LoopKey::new(64, Schedule::STATIC.ordered());
        assert!(table.entry(other, &asked).is_some());
        let views: Vec<LoopView> = table.views().collect();
        assert_eq!((views.len(), views[0].key), (1, other));
        assert_eq!((other.code(), other.schedule().0), (64, 0x101));
    }

    #[test]
    fn an_entry_fills_a_cache_line() {
        assert_eq!(size_of::<LoopEntry>(), 64);
    }
}
