//! Reads the OpenMP records of all threads from the arena's rings, for the merge.

mod events;
mod locks;
mod loops;
mod mpi;
mod objects;
mod queue;

use std::collections::BTreeMap;

use experiment::losses::{LossKind, Lost};
use experiment::rows::{LockSum, LockWait, LoopSum, MpiCall, MpiMessage};
use experiment::tables::Tables;
use omp_ring::consumer::{Consumer, SlotView};
use omp_ring::layout::Control;

use crate::clock::{self, Line, Pair};
use crate::dump::Dump;
use events::Shared;
use locks::{Conversion, Locks};
use loops::Loops;
use omp_model::omp::LockWaits;
use processes::Processes;
pub use queue::{Queue, ThreadEvents};

/// A record that is held back for longer will be pushed, in nanoseconds: its thread drops what is
/// shorter than some microseconds. The merge takes records that are older than twice as much.
const HELD_NS: u64 = 500_000;

/// Records of all threads, and counts.
pub struct OpenMp {
    /// `None` without shared memory: no OpenMP records then.
    arena: Option<Consumer>,
    /// Converts the arena's clock.
    line: Line,
    /// Unordered; [`Queue::index`] is the index of the slot in the arena.
    queues: Vec<Queue>,
    /// By the arena's index: 1 + the index in `queues`; 0 for none.
    positions: Vec<u32>,
    shared: Shared,
    loops: Loops,
    locks: Locks,
    /// Gets all that is read as text, if it is asked for.
    pub dump: Option<Dump>,
    /// Number of records read.
    pub taken: u64,
    /// Number of calling contexts read.
    pub contexts: u64,
    /// When the arena was read last, in nanoseconds since the start.
    looked_at: u64,
}

impl OpenMp {
    /// Reads from this arena, if there is one; `line` converts its clock.
    pub fn new(arena: Option<Consumer>, line: Line) -> Self {
        OpenMp {
            arena,
            line,
            queues: Vec::new(),
            positions: Vec::new(),
            shared: Shared::default(),
            loops: Loops::default(),
            locks: Locks::default(),
            dump: None,
            taken: 0,
            contexts: 0,
            looked_at: 0,
        }
    }

    /// The arena.
    pub fn arena(&self) -> Option<&Consumer> {
        self.arena.as_ref()
    }

    /// Stops the program's threads from pushing records.
    pub fn pause(&mut self) {
        if let Some(arena) = &mut self.arena {
            arena.set_control(Control::Paused);
        }
    }

    /// The arena, to read the program's calls from.
    pub fn arena_mut(&mut self) -> Option<&mut Consumer> {
        self.arena.as_mut()
    }

    /// What was lost until `now`, and when.
    pub fn lost(&self, now: u64) -> Lost {
        let mut lost = self.shared.lost.clone();
        lost.extend(&self.loops.lost);
        lost.extend(&self.locks.lost);
        for queue in self.queues.iter().filter(|queue| queue.is_given_up) {
            lost.add(LossKind::ThreadsGivenUp, (queue.last(), now), 0);
        }
        lost
    }

    /// Counts the records that threads dropped at their end, or since they pushed their last one, at the
    /// end of the recording.
    pub fn close(&mut self, now: u64) {
        let Some(arena) = &self.arena else {
            return;
        };
        for queue in self.queues.iter_mut().filter(|queue| queue.tid != 0) {
            let untold = queue.untold(arena, now);
            self.shared.lose_untold(queue, untold, now);
        }
    }

    /// The interpreters of Python that called runtimes: `PY_VERSION_HEX`, and whether their frames are known.
    pub fn pythons(&self) -> &BTreeMap<u32, bool> {
        self.shared.pythons()
    }

    /// Reads both clocks. Corrects the conversion of records from here on.
    pub fn tie_clocks(&mut self) {
        if let Some(arena) = &self.arena {
            self.line.extend(Pair::read(arena.clock()));
        }
    }

    /// Reads the rings of recorded threads. Converts times to nanoseconds since `start`, which is a
    /// raw time. Skips a thread that the side band has not announced yet, unless announcements were
    /// lost and it is to be `adopted`.
    pub fn drain(&mut self, processes: &Processes, start: u64, adopted: bool) {
        let Some(arena) = &self.arena else {
            return;
        };
        let is_intact = arena.is_intact();
        let when = (self.looked_at, now(start));
        self.looked_at = when.1;
        let lost = &mut self.shared.lost;
        lost.raise(LossKind::Calls, when, arena.calls_lost());
        lost.raise(LossKind::ThreadsRefused, when, arena.refused_slots().into());
        let views: Vec<SlotView> = if is_intact {
            arena.slots().collect()
        } else {
            Vec::new()
        };
        self.give_up_missing(&views, when.1);
        for view in views {
            if is_expected(processes, &view, adopted) {
                self.drain_slot(&view, start);
            }
        }
        let lost = &mut self.shared.lost;
        if !is_intact {
            lost.raise(LossKind::ThreadsGivenUp, when, 1);
        }
        // After the program has written into the arena, its count can have any value.
        if lost.of(LossKind::ThreadsGivenUp).is_some() {
            lost.retain(|loss| loss.kind != LossKind::ThreadsRefused);
        }
    }

    /// The number of records in the fullest of the rings that have been read before.
    pub fn waiting(&self) -> usize {
        let is_read = |view: &SlotView| {
            let position = self.positions.get(view.index as usize).copied();
            let queue = self
                .queues
                .get(position.unwrap_or(0).wrapping_sub(1) as usize);
            queue.is_some_and(|queue| !queue.is_given_up)
        };
        let slots = self.arena.iter().flat_map(Consumer::slots);
        let waiting = slots.filter(is_read).map(|view| view.pending);
        waiting.max().unwrap_or(0)
    }

    /// The number of records that are read and not merged yet.
    pub fn queued(&self) -> usize {
        self.queues.iter().map(Queue::len).sum()
    }

    /// Reads the ring of a slot.
    fn drain_slot(&mut self, view: &SlotView, start: u64) {
        let position = self.position_of(view.index);
        let queue = &mut self.queues[position];
        let Some(arena) = self.arena.as_mut().filter(|_| !queue.is_given_up) else {
            return;
        };
        let before = queue.last();
        let mut reception = queue.receive(view, &self.line, start);
        // Before the ring is read: it then has what is pushed meanwhile.
        let held = arena.held(view.index);
        let drained = arena.drain(view.index, usize::MAX, |item| {
            if let Some(dump) = &mut self.dump {
                dump.item(view.tid, &item);
            }
            reception.take(item);
        });
        reception.take_held(held, now(start).saturating_sub(HELD_NS));
        self.taken += reception.records;
        self.contexts += reception.contexts;
        let now = now(start);
        if drained.is_err() || !reception.is_plausible(now) {
            arena.give_up(view.index);
            reception.give_up(now);
            let lost = &mut self.shared.lost;
            lost.add(LossKind::ThreadsGivenUp, (before, now), 1);
            return;
        }
        for (kind, when, count) in reception.finish() {
            self.shared.lost.add(kind, when, count);
        }
    }

    /// Gives up threads whose slots are not in `views` although we have not recycled them.
    fn give_up_missing(&mut self, views: &[SlotView], now: u64) {
        let is_missing = |queue: &&mut Queue| {
            let is_there = views
                .binary_search_by_key(&queue.index, |view| view.index)
                .is_ok();
            queue.tid != 0 && !queue.is_given_up && !is_there
        };
        for queue in self.queues.iter_mut().filter(is_missing) {
            let when = (queue.last(), now);
            queue.give_up(now);
            self.shared.lost.add(LossKind::ThreadsGivenUp, when, 1);
        }
    }

    /// The index in `queues` of a slot's queue, which is created if there is none.
    fn position_of(&mut self, slot: u32) -> usize {
        let at = slot as usize;
        if self.positions.len() <= at {
            self.positions.resize(at + 1, 0);
        }
        if self.positions[at] == 0 {
            self.queues.push(Queue::new(slot));
            self.positions[at] = self.queues.len() as u32;
        }
        self.positions[at] as usize - 1
    }

    /// The threads' queues.
    pub fn queues(&self) -> &[Queue] {
        &self.queues
    }

    /// The events of the thread with the queue of this index.
    pub fn events(&mut self, queue: usize) -> ThreadEvents<'_> {
        ThreadEvents {
            queue: &mut self.queues[queue],
            shared: &mut self.shared,
        }
    }

    /// Reads the counts of loops of all threads. Returns what was added since the last call; `now` is
    /// the time.
    pub fn take_loops(
        &mut self,
        tables: &mut Tables,
        processes: &mut Processes,
        now: u64,
    ) -> Vec<LoopSum> {
        if let Some(arena) = &self.arena {
            for queue in self.queues.iter().filter(|queue| queue.tid != 0) {
                self.loops
                    .read(arena, queue, &self.line, (tables, processes), now);
            }
        }
        self.loops.take(now)
    }

    /// Reads the counts of mutexes of all threads. Returns what was added since the last call, and the
    /// rows of `waits`; `now` is the time up to which events have been merged, and `is_end` tells that
    /// these are all.
    pub fn take_locks(
        &mut self,
        waits: Vec<LockWaits>,
        (tables, processes): (&mut Tables, &mut Processes),
        now: u64,
        is_end: bool,
    ) -> (Vec<LockSum>, Vec<LockWait>) {
        let mut conversion = Conversion {
            tables,
            processes,
            inits: &self.shared.inits,
            now,
        };
        if let Some(arena) = &self.arena {
            for queue in self.queues.iter().filter(|queue| queue.tid != 0) {
                self.locks
                    .read(arena, queue, &self.line, &mut conversion, is_end);
            }
        }
        let waits = self.locks.waits(waits, &mut conversion);
        (self.locks.take(now), waits)
    }

    /// Returns the calls of MPI and messages that have ended since the last call; `is_end` tells that nothing follows.
    pub fn take_mpi(&mut self, is_end: bool) -> (Vec<MpiCall>, Vec<MpiMessage>) {
        self.shared.mpi.take(is_end)
    }

    /// Recycles the slots of threads that have ended and whose records are all merged.
    pub fn recycle(&mut self, tables: &mut Tables, processes: &mut Processes, now: u64) {
        let Some(arena) = &self.arena else {
            return;
        };
        for queue in &mut self.queues {
            let has_ended = queue
                .thread
                .map_or(queue.is_closed, |thread| !processes.is_alive(thread));
            let is_merged = queue.tid != 0 && queue.next_time().is_none();
            // Refused while records wait that were pushed after the drain: the next round reads
            // them.
            if !has_ended || !is_merged {
                continue;
            }
            self.loops
                .read(arena, queue, &self.line, (tables, processes), now);
            let mut conversion = Conversion {
                tables,
                processes,
                inits: &self.shared.inits,
                now,
            };
            self.locks
                .read(arena, queue, &self.line, &mut conversion, true);
            let untold = queue.untold(arena, now);
            if arena.recycle(queue.index) {
                self.shared.lose_untold(queue, untold, now);
                self.loops.forget(queue.index);
                self.locks.forget(queue.index);
                queue.tid = 0;
                queue.thread = None;
            }
        }
    }
}

/// Now, in nanoseconds since the start.
fn now(start: u64) -> u64 {
    clock::raw_now().saturating_sub(start)
}

/// Whether a slot belongs to a recorded thread.
fn is_expected(processes: &Processes, view: &SlotView, adopted: bool) -> bool {
    let is_known = processes.has_thread((view.pid, view.tid));
    (is_known || adopted && processes.has_process(view.pid)) && processes.is_recorded(view.pid)
}
