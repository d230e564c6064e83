//! Where perf events are forbidden: the program's threads sample themselves, and `/proc` tells of
//! processes, mappings, and time off CPUs.
//!
//! Each look at `/proc` becomes the side-band records that the kernel would have written, so that all
//! that follows is the same. What it tells is less: of a thread's time off CPUs only the sum since the
//! last look, unless it slept from one look to the next. A process is known once our library is loaded
//! in it, or where it lives from one look to another; the first one always is.

use std::collections::VecDeque;
use std::time::Duration;

use omp_ring::samples::{SampleReader, SampledThread, TakenSample};
use rustc_hash::{FxHashMap, FxHashSet};

use crate::clock;
use crate::proc::{self, CpuTimes};
use crate::sys;
use processes::records::{Mapping, Side, SideRecord};

/// How much a running thread's CPU time may lack until the kernel's next timer tick, in nanoseconds.
const TICK: u64 = 10_000_000;

/// The samples of all threads, and what `/proc` tells.
pub struct OwnSamples {
    reader: SampleReader,
    /// The first process.
    first: i32,
    /// Whether other processes are recorded, too.
    follow: bool,
    /// CLOCK_MONOTONIC_RAW at the start, in nanoseconds.
    start: u64,
    /// The time of the last look, in nanoseconds since the start.
    looked: u64,
    processes: FxHashMap<i32, Process>,
    /// Children that were not known at the last look, and when they were seen first.
    children: FxHashMap<i32, u64>,
    /// By slot: the thread that it belongs to, and its samples.
    slots: Vec<Slot>,
    records: Vec<SideRecord>,
    /// CPU time of threads that have ended, in nanoseconds.
    ended_cpu: u64,
    /// Periods of the timers without a sample.
    missed: u64,
    /// The CPU time that the last look took.
    look_took: Duration,
}

/// The time between looks, from which time off CPUs is known: as short as costs little.
const BETWEEN_LOOKS: Duration = Duration::from_millis(20);
/// The time between looks is at least so many times that of a look.
const LOOKS_SHARE: u32 = 20;

/// A thread's slot in the file of samples.
#[derive(Default)]
struct Slot {
    ids: (i32, i32),
    since: u64,
    /// Its thread writes no more.
    is_over: bool,
    waiting: VecDeque<TakenSample>,
}

#[derive(Default)]
struct Process {
    /// When its program began.
    since: u64,
    /// Start, length and offset of each that is told.
    mappings: FxHashSet<(u64, u64, u64)>,
    /// Where its executable begins.
    executable: Option<u64>,
    threads: FxHashMap<i32, Thread>,
    /// Threads that had no slot at the last look, and its time.
    without_slot: FxHashMap<i32, u64>,
}

/// A thread that lives. Times are in nanoseconds since the start.
struct Thread {
    cpu_times: Option<CpuTimes>,
    /// Its name as told; empty for its process's.
    name: Box<str>,
    since: u64,
    /// No look has compared its counts yet.
    is_new: bool,
    /// The kernel's counts at the last look.
    counts: proc::Counts,
    /// Time off CPUs that records have told, preempted or asleep.
    told: u64,
    preempted: u64,
    /// Since when it is known to be off CPUs.
    stopped: Option<u64>,
    /// How long it was on CPUs at least, by the periods of its timer.
    sampled: u64,
    /// The last that was told of it: when it closed its slot or its process began to exit, and its CPU time by
    /// then if that is known.
    last: Option<(u64, Option<u64>)>,
}

impl OwnSamples {
    /// Samples that `reader` reads, of process `first`; `start` is CLOCK_MONOTONIC_RAW at the start.
    pub fn new(reader: SampleReader, first: i32, follow: bool, start: u64) -> OwnSamples {
        OwnSamples {
            reader,
            first,
            follow,
            start,
            looked: 0,
            processes: FxHashMap::default(),
            children: FxHashMap::default(),
            slots: Vec::new(),
            records: Vec::new(),
            ended_cpu: 0,
            missed: 0,
            look_took: Duration::ZERO,
        }
    }

    /// Looks at all processes. Returns what happened since the last look, in no order.
    pub fn look(&mut self) -> Vec<SideRecord> {
        let begun = sys::own_cpu_seconds();
        if !self.processes.contains_key(&self.first) {
            self.begin_process(self.first, 0);
        }
        // Slots are read after the lists: a thread that is gone has closed its slot by then.
        let listed = self.now();
        let list = |pid: i32| (pid, proc::threads(pid).filter(|_| sys::is_running(pid)));
        let lists: Vec<_> = self.processes.keys().map(|pid| list(*pid)).collect();
        let now = self.now();
        self.take_slots(now);
        self.read(now);
        self.take_children();
        for (pid, tids) in lists {
            self.look_at(pid, tids, (listed, now));
        }
        self.looked = now;
        self.look_took = Duration::from_secs_f64((sys::own_cpu_seconds() - begun).max(0.0));
        std::mem::take(&mut self.records)
    }

    /// Now, in nanoseconds since the start.
    fn now(&self) -> u64 {
        clock::raw_now().saturating_sub(self.start)
    }

    /// Reads what the threads have written until now.
    fn read(&mut self, now: u64) {
        let threads: Vec<SampledThread> = self.reader.threads().collect();
        for thread in threads {
            let at = thread.index as usize;
            if self.slots.len() <= at {
                self.slots.resize_with(at + 1, Slot::default);
            }
            let (pid, tid) = thread.ids;
            if self.slots[at].ids != thread.ids && self.is_recorded(pid) {
                // It has claimed the slot a moment ago.
                continue;
            }
            let waiting = &mut self.slots[at].waiting;
            let mut periods = 0_u64;
            self.reader.drain(thread.index, |sample| {
                self.missed = self.missed.saturating_add(sample.missed);
                periods = periods.saturating_add(sample.missed).saturating_add(1);
                waiting.push_back(sample);
            });
            let process = self.processes.get_mut(&pid);
            if let Some(thread) = process.and_then(|process| process.threads.get_mut(&tid)) {
                let ran = periods.saturating_mul(self.reader.period_ns());
                thread.sampled = thread.sampled.saturating_add(ran).min(now);
            }
        }
    }

    /// Whether a process is recorded.
    fn is_recorded(&self, pid: i32) -> bool {
        self.follow || pid == self.first
    }

    /// The number of slots that were ever used.
    pub fn slots(&self) -> usize {
        self.slots.len()
    }

    /// Whether a thread samples itself, or did.
    pub fn has_slot(&self, ids: (i32, i32)) -> bool {
        self.slots.iter().any(|slot| slot.ids == ids)
    }

    /// The next sample of a slot that was taken before `until`, with the ids of its process and its
    /// thread. Its time is nanoseconds since the start.
    pub fn next(&mut self, slot: usize, until: u64) -> Option<((i32, i32), TakenSample)> {
        let slot = self.slots.get_mut(slot)?;
        let time = slot.waiting.front()?.time.saturating_sub(self.start);
        if time >= until {
            return None;
        }
        let mut sample = slot.waiting.pop_front()?;
        // No thread has samples from before its begin.
        sample.time = time.max(slot.since);
        Some((slot.ids, sample))
    }

    /// Frees the slots of threads that have ended and whose samples are all taken.
    pub fn recycle(&mut self) {
        let threads: Vec<SampledThread> = self.reader.threads().collect();
        for thread in threads {
            let (pid, tid) = thread.ids;
            let is_alive = |process: &Process| process.threads.contains_key(&tid);
            let lives = self.processes.get(&pid).is_some_and(is_alive);
            let slot = self.slots.get_mut(thread.index as usize);
            if let Some(slot) = slot
                && slot.ids == thread.ids
                && slot.waiting.is_empty()
                && (slot.is_over || !lives)
                && self.reader.recycle(thread.index)
            {
                slot.ids = (0, 0);
            }
        }
    }

    /// The longest time between two looks.
    pub fn longest_round(&self) -> Duration {
        BETWEEN_LOOKS.max(self.look_took * LOOKS_SHARE)
    }

    /// Samples that were lost since the last call.
    pub fn take_lost(&mut self) -> u64 {
        self.reader.take_lost()
    }

    /// Periods of CPU time that passed without a sample, because the kernel looks at timers less often.
    pub fn missed(&self) -> u64 {
        self.missed
    }

    /// Threads that could not be sampled.
    pub fn refused(&self) -> u32 {
        self.reader.refused()
    }

    /// CPU time of all threads, in nanoseconds.
    pub fn cpu_time(&self) -> u64 {
        let processes = self.processes.values();
        let threads = processes.flat_map(|process| process.threads.values());
        self.ended_cpu + threads.map(|thread| thread.counts.on_cpu).sum::<u64>()
    }

    fn record(&mut self, time: u64, ids: (i32, i32), what: Side) {
        self.records.push(side_record(time, ids, what));
    }

    /// A process begins a program. Its first thread goes on, the others end.
    fn begin_process(&mut self, pid: i32, time: u64) {
        let name = proc::name((pid, pid)).unwrap_or_default();
        self.record(time, (pid, pid), Side::Comm { exec: true, name });
        self.record(time, (pid, pid), off_cpu(0, 0, 0));
        let mut process = self.processes.remove(&pid).unwrap_or_default();
        let first = process.threads.remove(&pid);
        let first = first.unwrap_or_else(|| Thread::new((pid, pid), time));
        let others = process.threads.values();
        self.ended_cpu += others.map(|thread| thread.counts.on_cpu).sum::<u64>();
        let process = Process {
            since: time,
            threads: FxHashMap::from_iter([(pid, first)]),
            ..Process::default()
        };
        self.processes.insert(pid, process);
        let of_process = self.slots.iter_mut().filter(|slot| slot.ids.0 == pid);
        of_process.for_each(|slot| slot.is_over = true);
    }

    /// Learns of new threads and processes by their slots.
    fn take_slots(&mut self, now: u64) {
        let mut threads: Vec<SampledThread> = self.reader.threads().collect();
        threads.sort_by_key(|thread| thread.since);
        for thread in threads {
            let (at, since) = (thread.index as usize, thread.since);
            let since = since.saturating_sub(self.start);
            if self.slots.len() <= at {
                self.slots.resize_with(at + 1, Slot::default);
            }
            let slot = &self.slots[at];
            if since > now || !self.is_recorded(thread.ids.0) {
                continue;
            }
            if (slot.ids, slot.since) != (thread.ids, since) {
                self.begin_thread(&thread, since);
                self.slots[at] = Slot {
                    ids: thread.ids,
                    since,
                    ..Slot::default()
                };
            }
            if let Some((until, cpu_time)) = thread.last {
                let until = until.saturating_sub(self.start).min(now);
                // The program can write anything there. No thread has run for longer than the recording.
                let cpu_time = cpu_time.map(|time| time.min(now));
                self.slots[at].is_over = thread.is_closed;
                let (pid, tid) = thread.ids;
                let process = self.processes.get_mut(&pid);
                if let Some(thread) = process.and_then(|process| process.threads.get_mut(&tid)) {
                    thread.last = Some((until, cpu_time));
                }
            }
        }
    }

    /// A thread has claimed a slot.
    fn begin_thread(&mut self, thread: &SampledThread, since: u64) {
        let (pid, tid) = thread.ids;
        if !self.processes.contains_key(&pid) {
            self.fork(pid, tid, since);
        }
        let is_first_program = pid == self.first && self.slots.iter().all(|slot| slot.ids.0 != pid);
        if thread.begins && !is_first_program {
            self.begin_process(pid, since);
        }
        let process = self.processes.get(&pid);
        if process.is_some_and(|process| !process.threads.contains_key(&tid)) {
            self.add_thread(thread.ids, since);
        }
    }

    fn add_thread(&mut self, ids: (i32, i32), since: u64) {
        let (pid, tid) = ids;
        if let Some(process) = self.processes.get_mut(&pid) {
            process.threads.insert(tid, Thread::new(ids, since));
            let parent = pid;
            self.record(
                since,
                ids,
                Side::Fork {
                    parent,
                    creator: pid,
                },
            );
            self.record(since, ids, Side::Goes);
            self.record(since, ids, off_cpu(0, 0, 0));
        }
    }

    /// A process that was not known has been forked, and has the mappings of its parent.
    fn fork(&mut self, pid: i32, tid: i32, time: u64) {
        let parent = proc::parent(pid).filter(|parent| self.processes.contains_key(parent));
        let parent = parent.unwrap_or(self.first);
        let creator = parent;
        self.record(time, (pid, tid), Side::Fork { parent, creator });
        self.record(time, (pid, tid), Side::Goes);
        self.record(time, (pid, tid), off_cpu(0, 0, 0));
        // Those of a parent that has ended are not known any more: the child's are all told as new.
        let parent = self.processes.get(&parent);
        let parent = parent.filter(|parent| !parent.threads.is_empty());
        let process = Process {
            since: time,
            mappings: parent
                .map(|parent| parent.mappings.clone())
                .unwrap_or_default(),
            executable: parent.and_then(|parent| parent.executable),
            threads: FxHashMap::from_iter([(tid, Thread::new((pid, tid), time))]),
            without_slot: FxHashMap::default(),
        };
        self.processes.insert(pid, process);
    }

    /// Adds processes without our library: children that live and still have no slot.
    fn take_children(&mut self) {
        let is_new = |pid: &i32| !self.processes.contains_key(pid) && sys::is_running(*pid);
        let children = std::mem::take(&mut self.children);
        let children: Vec<(i32, u64)> = children.into_iter().filter(|it| is_new(&it.0)).collect();
        for (pid, since) in children {
            self.fork(pid, pid, since);
        }
    }

    /// Looks at a process whose living threads were `tids` at the first of two times; `None` if it has
    /// ended. The second one is now.
    fn look_at(&mut self, pid: i32, tids: Option<Vec<i32>>, (listed, now): (u64, u64)) {
        let looked = self.looked;
        let Some(tids) = tids else {
            self.end_threads(pid, now, |_, _| true);
            if pid != self.first {
                self.processes.remove(&pid);
            }
            return;
        };
        self.look_at_mappings(pid, looked);
        self.find_threads(pid, &tids, now);
        self.end_threads(pid, now, |tid, since| {
            since < listed && !tids.contains(&tid)
        });
        let Some(process) = self.processes.get_mut(&pid) else {
            return;
        };
        let (mut told, mut children) = (Vec::new(), Vec::new());
        for (&tid, thread) in &mut process.threads {
            let has_run = thread.look((pid, tid), (looked, now), |time, what| {
                told.push((time, tid, what))
            });
            if has_run && self.follow {
                children.extend(proc::children((pid, tid)));
            }
            if (has_run || thread.name.is_empty())
                && let Some(name) = proc::name((pid, tid))
                && thread.name != name
            {
                thread.name.clone_from(&name);
                told.push((now, tid, Side::Comm { exec: false, name }));
            }
        }
        for (time, tid, what) in told {
            self.record(time, (pid, tid), what);
        }
        for child in children {
            if !self.processes.contains_key(&child) {
                self.children.entry(child).or_insert(now);
            }
        }
    }

    /// Adds threads that have no slot: those that do not have one at the second look either.
    fn find_threads(&mut self, pid: i32, tids: &[i32], now: u64) {
        let Some(process) = self.processes.get_mut(&pid) else {
            return;
        };
        let before = std::mem::take(&mut process.without_slot);
        let mut found = Vec::new();
        for tid in tids {
            if process.threads.contains_key(tid) {
                continue;
            }
            match before.get(tid) {
                Some(since) => found.push((*tid, *since)),
                None => {
                    process.without_slot.insert(*tid, now);
                }
            }
        }
        for (tid, since) in found {
            self.add_thread((pid, tid), since);
        }
    }

    /// Ends the threads of a process that are gone, by their ids and begins.
    fn end_threads(&mut self, pid: i32, now: u64, is_gone: impl Fn(i32, u64) -> bool) {
        let Some(process) = self.processes.get_mut(&pid) else {
            return;
        };
        let gone = process
            .threads
            .extract_if(|tid, thread| is_gone(*tid, thread.since));
        let gone: Vec<(i32, Thread)> = gone.collect();
        for (tid, mut thread) in gone {
            let ids = (pid, tid);
            let (until, cpu_time) = thread.last.unwrap_or((now, None));
            // The first thread closes its slot when the process begins to exit. What it ran after that, nobody
            // knows.
            let end = if tid == pid {
                now
            } else {
                until.max(self.looked)
            };
            thread.end((end, cpu_time), |time, what| {
                self.records.push(side_record(time, ids, what));
            });
            self.ended_cpu += thread.counts.on_cpu;
            self.record(end, ids, Side::Exit);
        }
    }

    /// Tells the mappings that are new, as of the last look: code may have run in them since.
    fn look_at_mappings(&mut self, pid: i32, looked: u64) {
        let (executable, mappings) = proc::mappings(pid);
        let Some(process) = self.processes.get_mut(&pid) else {
            return;
        };
        let start = executable.or(process.executable);
        let is_other = process.executable.is_some_and(|old| Some(old) != start);
        if is_other {
            // An `exec` of a program without our library.
            self.begin_process(pid, looked);
        }
        let Some(process) = self.processes.get_mut(&pid) else {
            return;
        };
        process.executable = start;
        let time = looked.max(process.since);
        let new = mappings.into_iter().filter(|mapping| {
            // Not by path: the file may be deleted meanwhile.
            let key = (mapping.start, mapping.length, mapping.offset);
            process.mappings.insert(key)
        });
        let new: Vec<Mapping> = new.collect();
        for mapping in new {
            self.record(time, (pid, pid), Side::Map(Box::new(mapping)));
        }
    }
}

fn side_record(time: u64, (pid, tid): (i32, i32), what: Side) -> SideRecord {
    SideRecord {
        time,
        pid,
        tid,
        cpu: 0,
        what,
    }
}

/// A record of time off CPUs.
fn off_cpu(blocked: u64, preempted: u64, open: u64) -> Side {
    Side::OffCpu {
        blocked,
        preempted,
        open,
    }
}

impl Thread {
    fn new(ids: (i32, i32), since: u64) -> Thread {
        let cpu_times = CpuTimes::open(ids);
        let counts = cpu_times.as_ref().and_then(CpuTimes::read);
        Thread {
            cpu_times,
            name: Box::default(),
            since,
            is_new: true,
            counts: counts.unwrap_or_default(),
            told: 0,
            preempted: 0,
            stopped: None,
            sampled: 0,
            last: None,
        }
    }

    /// Compares the kernel's counts with those of the last look, at `looked`. Returns whether it has run
    /// since.
    fn look(
        &mut self,
        ids: (i32, i32),
        (looked, now): (u64, u64),
        mut tell: impl FnMut(u64, Side),
    ) -> bool {
        let looked = looked.max(self.since);
        let Some(counts) = self.cpu_times.as_ref().and_then(CpuTimes::read) else {
            return false;
        };
        let before = std::mem::replace(&mut self.counts, counts);
        // Of a new thread they are those of a moment ago.
        let has_run = std::mem::take(&mut self.is_new) || counts != before;
        if !has_run && now.saturating_sub(looked) < TICK {
            // Too short to tell.
            return false;
        }
        match self.stopped {
            Some(_) if !has_run => {
                self.told += now - looked;
                return false;
            }
            Some(since) => {
                self.stopped = None;
                tell(looked, Side::Goes);
                // What it waited for a CPU meanwhile is told already.
                let waited = counts.preempted.saturating_sub(before.preempted);
                self.preempted += waited.min(looked.saturating_sub(since));
            }
            None if !has_run => {
                self.stopped = Some(looked);
                // Up to the last look it ran for as long as the counts say.
                self.tell_off_cpu(looked, 0, &mut tell);
                let ready = proc::is_ready(ids);
                tell(looked, Side::Stops { ready });
                self.told += now - looked;
                return false;
            }
            None => {}
        }
        self.tell_off_cpu(now, TICK, &mut tell);
        true
    }

    /// Tells what is left, of a thread that has ended at `until`, with its CPU time as it was told last. What it
    /// has run since its last known CPU time is not known, and not counted.
    fn end(&mut self, (until, cpu_time): (u64, Option<u64>), mut tell: impl FnMut(u64, Side)) {
        let before = self.counts.on_cpu;
        // The kernel has the counts of a process until another one has waited for it.
        if let Some(counts) = self.cpu_times.as_ref().and_then(CpuTimes::read) {
            self.counts = counts;
        }
        let told = cpu_time.unwrap_or(0).max(self.sampled);
        self.counts.on_cpu = self.counts.on_cpu.max(told);
        let ran = self.counts.on_cpu.saturating_sub(before);
        if self.stopped.is_none() {
            self.tell_off_cpu(until, 0, &mut tell);
        } else if ran > 0 {
            tell(until.saturating_sub(ran), Side::Goes);
        }
    }

    /// Tells time off CPUs up to `time` that is not told yet. The counts may be behind by `slack`.
    fn tell_off_cpu(&mut self, time: u64, slack: u64, tell: &mut impl FnMut(u64, Side)) {
        let left = time
            .saturating_sub(self.since)
            .saturating_sub(self.counts.on_cpu + self.told);
        let open = left.min(slack);
        let off_cpu = left - open;
        let preempted = self.counts.preempted.saturating_sub(self.preempted);
        let preempted = preempted.min(off_cpu);
        self.preempted += preempted;
        self.told += off_cpu;
        tell(time, self::off_cpu(off_cpu - preempted, preempted, open));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: u64 = 1_000_000;

    fn thread() -> Thread {
        Thread {
            cpu_times: None,
            name: Box::default(),
            since: 0,
            is_new: true,
            counts: proc::Counts::default(),
            told: 0,
            preempted: 0,
            stopped: None,
            sampled: 0,
            last: None,
        }
    }

    #[test]
    fn a_running_thread_is_not_off_a_cpu_between_two_ticks() {
        let mut thread = thread();
        let mut told = Vec::new();
        for look in 1..100 {
            let now = 20 * look * MS;
            // The kernel's count is behind by up to 8 ms.
            thread.counts.on_cpu = now - (look % 3) * 4 * MS;
            thread.tell_off_cpu(now, TICK, &mut |_, what| told.push(what));
        }
        let is_none = |what: &Side| {
            matches!(
                what,
                Side::OffCpu {
                    blocked: 0,
                    preempted: 0,
                    ..
                }
            )
        };
        assert!(told.iter().all(is_none));
    }

    #[test]
    fn the_sum_off_cpus_is_told_once() {
        let mut thread = thread();
        let (mut blocked, mut preempted) = (0, 0);
        for look in 1..=100 {
            let now = 20 * look * MS;
            // Half of the time, and a quarter of it waiting for a CPU.
            thread.counts.on_cpu = now / 2;
            thread.counts.preempted = now / 4;
            thread.tell_off_cpu(now, TICK, &mut |time, what| {
                assert_eq!(time, now);
                if let Side::OffCpu {
                    blocked: more,
                    preempted: ready,
                    ..
                } = what
                {
                    blocked += more;
                    preempted += ready;
                }
            });
        }
        assert_eq!((blocked + preempted, preempted), (990 * MS, 500 * MS));
    }
}
