//! Merges the events of all threads by time, and gives samples the states of their threads.
//!
//! A round processes everything that happened before the *cutoff*, a time shortly before now. It reads
//! first the side band, which tells the threads and mappings; then the samples, which it unwinds in
//! their rings; then the OpenMP records. Later records wait for the next round. Each stream is sorted;
//! the round merges them by time.

use std::collections::VecDeque;

use experiment::ids::{Nanos, ProcessId, ThreadId};
use experiment::losses::{LossKind, Lost, Stretches};
use experiment::rows::{LONG, LockSum, LockWait, LoopSum, MpiCall, MpiMessage, Sample, SampleKind};
use experiment::state::Scheduling;
use experiment::tables::{Cut, Tables};
use omp_model::omp::{Machine, Rows, TimeAccounting};
use omp_model::stream::{Event, What};

use crate::completion::{Completed, Completion};
use crate::control::Control;
use crate::dropped::Dropped;
use crate::no_events::ProcessState;
use crate::on_cpu::OnCpu;
use crate::openmp::OpenMp;
use crate::perf::open::Rings;
use crate::perf::parse::{self, FromSideBand};
use crate::registered::Registered;
use crate::schedule::WAITING;
use crate::sleepers::{Sleep, Sleepers};
use crate::source::Source;
use crate::stacks::Stacks;
use crate::streams::{Next, Streams};
use crate::{clock, proc, sleepers, sys};
use processes::Processes;
use processes::records::{Side, SideRecord};
use processes::stacks::Endings;
use samples::Maker;

/// The distance of the cutoff from now. A record is in its ring some microseconds after its time,
/// unless its thread loses its CPU in between, mostly for one time slice of another thread: 3 or 4 ms.
/// A record that comes later still is counted.
const MARGIN_NS: u64 = 10_000_000;

/// A round with many records merges so much time at once, in nanoseconds. Between these steps it reads full
/// rings: tasks that do nothing push up to 50 million records a second, three times as fast as they are
/// merged, which fills a ring in 5 ms.
const STEP: u64 = 1_000_000;

/// Counts of what was read and lost so far.
#[derive(Clone, Debug, Default)]
pub struct Counts {
    /// Clock samples.
    pub samples: u64,
    /// Samples of each counter: how many count, and when the kernel dropped how many of them and others.
    pub counters: Vec<(u64, Stretches)>,
    /// Switch-out samples.
    pub switch_samples: u64,
    /// Clock samples that were dropped because recording was paused.
    pub paused_samples: u64,
    /// Records of the side band.
    pub side_band: u64,
    /// Samples and side-band records that were dropped, and threads that could not sample themselves.
    pub lost: Lost,
    /// Number of times that the kernel throttled sampling by the clock.
    pub throttled: u64,
    /// Likewise by counters.
    pub throttled_counters: u64,
    /// OpenMP records that came after the merge had passed their time.
    pub late: u64,
    /// Periods of the threads' own timers without a sample: the kernel looks at timers less often.
    pub missed_periods: u64,
    /// How the stacks of samples of the clock and of counters ended.
    pub endings: Endings,
    /// Truncated stacks that the thread's memory completed.
    pub completed_by_memory: u64,
    /// Truncated stacks that another sample completed.
    pub completed_by_sample: u64,
    /// Truncated stacks that a fork point completed.
    pub completed_by_fork_point: u64,
}

impl Counts {
    /// Counts a stack that was completed.
    fn completed(&mut self, kind: SampleKind, how: Completed) {
        match how {
            Completed::Corrected => return,
            Completed::ByForkPoint => self.completed_by_fork_point += 1,
            Completed::BySample => self.completed_by_sample += 1,
        }
        if kind.scheduling() == Scheduling::Running {
            self.endings.complete += 1;
            self.endings.cut[Cut::DumpTooSmall as usize] -= 1;
        }
    }
}

/// Kinds of streams. At equal times the side band comes first, since it creates threads, and samples
/// come last, since they change nothing.
const SIDE_BAND: u8 = 0;
const OPENMP: u8 = 1;
const SAMPLES: u8 = 2;
const CONTROL: u8 = 3;

/// The merge, and all state that it updates.
pub struct Merge {
    /// The tables.
    pub tables: Tables,
    /// Processes and threads.
    pub processes: Processes,
    /// By number of [`Processes::mapped`]: the state of the process when the runtime was mapped.
    pub states: Vec<ProcessState>,
    /// OpenMP records of all threads.
    pub openmp: OpenMp,
    /// OpenMP runtimes, and tools in our place.
    pub registered: Registered,
    /// Counts for the header.
    pub counts: Counts,
    /// Pauses, phases and sample points.
    pub control: Control,
    machine: Machine,
    accounting: TimeAccounting,
    stacks: Stacks,
    completion: Completion,
    start: u64,
    side_band: Vec<SideRecord>,
    events: VecDeque<Event>,
    /// Unwound samples, a queue for each ring: clock samples first, then switch-out stacks, then those
    /// of counters.
    waiting: Vec<VecDeque<Sample>>,
    /// What makes the samples of each queue.
    makers: Vec<Maker>,
    /// By thread: a switch-out sample that waits for its switch record, which tells the reason.
    switched_out: Vec<Option<Sample>>,
    sleepers: Sleepers,
    on_cpu: OnCpu,
    /// Without switch records: CPU time of all threads by the kernel's account, in nanoseconds.
    own_cpu_time: Option<u64>,
    /// [`sys::steal`] at the start.
    steal: u64,
    merged_to: u64,
    /// When the rings were read last.
    looked_at: u64,
    streams: Streams,
    merged: Vec<Sample>,
    /// [`OnCpu::total`] at the begin of the last pause, and in all pauses that have ended.
    paused_at: (u64, u64),
    paused_for: (u64, u64),
    /// By counter.
    merged_of_counters: Vec<Vec<Sample>>,
    /// Samples of counters that the kernel dropped.
    dropped: Dropped,
}

impl Merge {
    /// A merge that has not begun. Times count from `start`, a raw time in nanoseconds.
    pub fn new(processes: Processes, openmp: OpenMp, start: u64) -> Self {
        Merge {
            tables: Tables::default(),
            processes,
            states: Vec::new(),
            openmp,
            registered: Registered::default(),
            counts: Counts::default(),
            control: Control::default(),
            machine: Machine::new(),
            accounting: TimeAccounting::new(LONG),
            stacks: Stacks::default(),
            completion: Completion::default(),
            start,
            side_band: Vec::new(),
            events: VecDeque::new(),
            waiting: Vec::new(),
            makers: Vec::new(),
            switched_out: Vec::new(),
            sleepers: Sleepers::default(),
            on_cpu: OnCpu::default(),
            own_cpu_time: None,
            steal: sys::steal(),
            merged_to: 0,
            looked_at: 0,
            streams: Streams::default(),
            merged: Vec::new(),
            paused_at: (0, 0),
            paused_for: (0, 0),
            merged_of_counters: Vec::new(),
            dropped: Dropped::default(),
        }
    }

    /// Adds a side-band record that did not come from a ring, for the next round.
    pub fn side_band(&mut self, record: SideRecord) {
        self.side_band.push(record);
    }

    /// The number of truncated stacks so far.
    pub fn truncated_stacks(&self) -> u64 {
        self.counts.completed_by_memory + self.counts.endings.cut[Cut::DumpTooSmall as usize]
    }

    /// Processes other than the first that run now, as far as the last round has read: process id and
    /// name.
    pub fn other_processes(&self) -> Vec<(i32, String)> {
        let mut others =
            self.processes
                .still_running(&self.tables, self.merged_to, sys::is_running);
        for record in &self.side_band {
            let is_new = matches!(record.what, Side::Fork { parent, .. } if parent != record.pid);
            let is_known = others.iter().any(|(pid, _)| *pid == record.pid);
            if is_new && !is_known && sys::is_running(record.pid) {
                let name = proc::name((record.pid, record.pid));
                others.push((record.pid, name.map_or_else(|| "?".into(), Into::into)));
            }
        }
        others
    }

    /// Does a round over all rings.
    pub fn round(&mut self, source: &mut Source) {
        let until = clock::raw_now().saturating_sub(MARGIN_NS);
        self.round_until(source, until);
    }

    /// Does the last round, without a cutoff.
    pub fn last_round(&mut self, source: &mut Source) {
        let now = clock::raw_now().saturating_sub(self.start);
        self.control.forget_after(now);
        self.round_until(source, u64::MAX);
        self.openmp.close(now);
    }

    fn round_until(&mut self, source: &mut Source, until: u64) {
        let cutoff = until.saturating_sub(self.start);
        let now = clock::raw_now().saturating_sub(self.start);
        self.openmp.tie_clocks();
        if let Some(arena) = self.openmp.arena_mut() {
            self.control.drain(arena, self.start);
        }
        let has_sleepers = match source {
            Source::Perf(rings) => {
                self.read_side_band(rings);
                self.apply_side_band(cutoff);
                self.take_all_samples(rings, until);
                !rings.switch_stacks.is_empty()
            }
            Source::Own { samples, .. } => {
                self.side_band.extend(samples.look());
                self.apply_side_band(cutoff);
                self.take_own_samples(samples, cutoff, now);
                true
            }
        };
        self.looked_at = now;
        let adopted = self.counts.lost.of(LossKind::SideBand).is_some();
        self.openmp.drain(&self.processes, self.start, adopted);
        // A thread may push records faster than they are merged.
        while self.openmp.queued() >= WAITING && until != u64::MAX {
            let step = self.merged_to + STEP;
            if step >= cutoff {
                break;
            }
            self.merge(step);
            self.advance(step);
            if self.openmp.waiting() >= WAITING {
                self.openmp.drain(&self.processes, self.start, adopted);
            }
        }
        self.merge(cutoff);
        if until != u64::MAX {
            // Even if nothing happened: intervals that continue are accounted up to here.
            self.advance(cutoff);
            if has_sleepers {
                self.read_sleepers(source);
            }
        }
        let now = self.merged_to;
        self.openmp
            .recycle(&mut self.tables, &mut self.processes, now);
        // Before the mappings of ended processes are dropped.
        if let Some(arena) = self.openmp.arena() {
            self.registered
                .take(arena, &mut self.processes, self.merged_to);
        }
        self.processes.forget_before(cutoff.min(self.merged_to));
        self.processes.look_at_copies();
        self.processes.read_generated();
    }

    /// Begins with a process that runs already. `found` are its name, mappings and threads, at time 0.
    /// Comes before the first round, and some switches after the events were enabled: a thread's first
    /// switch tells whether it was on a CPU. What happened before the start counts as of time 0.
    pub fn begin_with(&mut self, rings: &mut Rings, mut found: Vec<SideRecord>) {
        self.read_side_band(rings);
        self.side_band.sort_by_key(|record| record.time);
        let is_new = |tid: i32| {
            let mut records = self.side_band.iter().filter(|record| record.tid == tid);
            records.any(|record| matches!(record.what, Side::Fork { .. }))
        };
        found.retain(|record| !matches!(record.what, Side::Found { .. }) || !is_new(record.tid));
        for record in &mut found {
            let Side::Found { scheduling } = &mut record.what else {
                continue;
            };
            let mut switches = self.side_band.iter().filter(|it| it.tid == record.tid);
            let was_on_cpu = switches.find_map(|it| match it.what {
                Side::SwitchIn => Some(false),
                Side::SwitchOut { .. } => Some(true),
                _ => None,
            });
            *scheduling = match (was_on_cpu, *scheduling) {
                (Some(true), _) => Scheduling::Running,
                (Some(false), Scheduling::Running) => Scheduling::Preempted,
                (_, looked_up) => looked_up,
            };
        }
        self.side_band.splice(0..0, found);
    }

    /// Reads the rings of the side band.
    fn read_side_band(&mut self, rings: &mut Rings) {
        let minor = rings.side_band.iter_mut().map(|ring| (ring, false));
        let major = rings.major_faults.iter_mut().map(|ring| (ring, true));
        for (ring, is_major) in minor.chain(major) {
            let mut read_to = ring.read_to;
            let is_intact = ring.drain(u64::MAX, |record| match parse::from_side_band(record) {
                FromSideBand::Record(mut record) => {
                    record.time = record.time.saturating_sub(self.start);
                    read_to = record.time;
                    if is_major && record.what == Side::MinorFaults {
                        record.what = Side::MajorFault;
                    }
                    self.counts.side_band += 1;
                    self.side_band.push(record);
                }
                FromSideBand::Lost(parse::Lost { count, time }) => {
                    let before = read_to;
                    read_to = time.saturating_sub(self.start);
                    let when = (before, read_to);
                    self.counts.lost.add(LossKind::SideBand, when, count);
                }
                FromSideBand::Other => {}
            });
            if !is_intact {
                let now = clock::raw_now().saturating_sub(self.start);
                self.counts.lost.add(LossKind::SideBand, (read_to, now), 1);
            }
            ring.read_to = read_to;
        }
    }

    /// Applies the records of the side band before `cutoff`.
    fn apply_side_band(&mut self, cutoff: u64) {
        // Each CPU's records are sorted already. The sort is stable, and fast for such runs.
        self.side_band.sort_by_key(|record| record.time);
        let due = self
            .side_band
            .partition_point(|record| record.time < cutoff);
        for record in self.side_band.drain(..due) {
            self.processes
                .apply(&mut self.tables, record, &mut |event| {
                    self.events.push_back(event);
                });
            while let Some(new) = self.processes.mapped.get(self.states.len()) {
                let library = self.processes.objects.collector();
                self.states.push(ProcessState::of(new.pid, library));
            }
        }
    }

    /// Merges everything before the cutoff. Takes items of one stream until another one has an earlier
    /// item, since a thread's events mostly come in runs.
    fn merge(&mut self, cutoff: u64) {
        let side_band = self
            .events
            .front()
            .map(|event| Next::new(event.time.0, SIDE_BAND, 0));
        let openmp = self
            .openmp
            .queues()
            .iter()
            .zip(0..)
            .filter_map(|(queue, number)| Some(Next::new(queue.next_time()?, OPENMP, number)));
        let samples =
            self.waiting.iter().zip(0..).filter_map(|(queue, number)| {
                Some(Next::new(queue.front()?.time.0, SAMPLES, number))
            });
        let control = self.control.next_time();
        let control = control.map(|time| Next::new(time, CONTROL, 0));
        self.streams.fill(
            side_band
                .into_iter()
                .chain(openmp)
                .chain(samples)
                .chain(control),
        );
        let end = Next::new(cutoff, SIDE_BAND, 0);
        while let Some(first) = self.streams.first().filter(|first| *first < end) {
            let stop = self.streams.second().map_or(end, |second| second.min(end));
            let number = first.number();
            let next = match first.kind() {
                SIDE_BAND => self.merge_side_band(stop),
                OPENMP => self.merge_openmp(number, stop),
                SAMPLES => self.merge_samples(number, stop),
                _ => self.merge_control(stop),
            };
            self.streams
                .replace_first(next.map(|time| Next::new(time, first.kind(), number)));
        }
    }

    /// Advances the merge to `time`. Returns the time of the merge, which is later if `time` is late.
    #[inline]
    fn advance(&mut self, time: u64) -> u64 {
        self.merged_to = self.merged_to.max(time);
        self.merged_to
    }

    fn merge_side_band(&mut self, stop: Next) -> Option<u64> {
        while let Some(event) = self.events.front().copied() {
            if Next::new(event.time.0, SIDE_BAND, 0) >= stop {
                return Some(event.time.0);
            }
            let event = Event {
                time: Nanos(self.advance(event.time.0)),
                ..event
            };
            self.events.pop_front();
            self.kernel_event(&event);
        }
        None
    }

    fn merge_openmp(&mut self, number: u32, stop: Next) -> Option<u64> {
        // Items of this stream before that time come before `stop`.
        let comes_first = Next::new(stop.time(), OPENMP, number) < stop;
        let until = stop.time().saturating_add(u64::from(comes_first));
        let (tables, processes) = (&mut self.tables, &mut self.processes);
        let mut events = self.openmp.events(number as usize);
        let first = events.next_time()?;
        let thread = match *events.thread() {
            Some(thread) => thread,
            None => {
                let thread = thread_of(processes, tables, events.numbers(), first);
                *events.thread() = Some(thread);
                thread
            }
        };
        loop {
            let time = events.next_time()?;
            if time >= until {
                return Some(time);
            }
            let is_late = time < self.merged_to;
            self.merged_to = self.merged_to.max(time);
            if let Some(what) = events.pop(self.merged_to, tables, processes) {
                // The creation of a task has the time of the record before.
                let is_timed = !matches!(what, What::TaskCreate { .. } | What::TaskDivide { .. });
                self.counts.late += u64::from(is_late && is_timed);
                let event = Event {
                    time: Nanos(self.merged_to),
                    thread,
                    what,
                };
                self.machine.apply(tables, &mut self.accounting, &event);
                for &(activation, callers) in events.take_large_frames() {
                    self.completion
                        .at_context((thread, event.time), activation, callers);
                }
            }
        }
    }

    fn merge_control(&mut self, stop: Next) -> Option<u64> {
        while let Some(time) = self.control.next_time() {
            if Next::new(time, CONTROL, 0) >= stop {
                return Some(time);
            }
            let now = self.advance(time);
            let was_paused = self.control.is_paused();
            let paused = self.control.apply(
                now,
                (&mut self.tables, &self.processes),
                (&mut self.machine, &mut self.accounting),
            );
            if let (Some(paused), Some(arena)) = (paused, self.openmp.arena()) {
                arena.set_paused(paused);
            }
            let total = self.on_cpu.total(now);
            match (was_paused, self.control.is_paused()) {
                (false, true) => self.paused_at = total,
                (true, false) => self.paused_for = self.in_pauses(total),
                _ => {}
            }
        }
        None
    }

    fn merge_samples(&mut self, number: u32, stop: Next) -> Option<u64> {
        let queue = number as usize;
        while let Some(sample) = self.waiting[queue].front() {
            let time = sample.time.0;
            if Next::new(time, SAMPLES, number) >= stop {
                return Some(time);
            }
            let when = (sample.thread, Nanos(self.merged_to.max(time)));
            self.machine
                .sampled(&mut self.tables, &mut self.accounting, when, sample.stack);
            let thread_state = self.machine.thread_state_of(sample.thread);
            let within = self.machine.within_of(sample.thread);
            let sample = Sample {
                thread_state,
                within,
                ..*sample
            };
            self.waiting[queue].pop_front();
            self.advance(time);
            if let Maker::Counter(number) = self.makers[queue] {
                self.merged_of_counters[number].push(sample);
            } else if sample.kind == SampleKind::Blocked {
                let index = sample.thread.index();
                if self.switched_out.len() <= index {
                    self.switched_out.resize(index + 1, None);
                }
                // The previous sample has no switch record, so its reason stays unknown. Most are waits.
                self.merged.extend(self.switched_out[index].replace(sample));
            } else {
                self.merged.push(sample);
            }
        }
        None
    }

    /// Applies the begin or end of a thread, or a switch.
    fn kernel_event(&mut self, event: &Event) {
        let (index, now) = (event.thread.index(), event.time.0);
        let mut sampled_state = None;
        if let What::SwitchOut(scheduling) = event.what
            && let Some(sample) = self.switched_out.get_mut(index).and_then(Option::take)
        {
            let kind = match scheduling {
                Scheduling::Preempted => SampleKind::Preempted,
                _ => SampleKind::Blocked,
            };
            self.merged.push(Sample { kind, ..sample });
            sampled_state = self.tables.thread_states.get(sample.thread_state.0);
        }
        // A wait of OpenMP is located by its event, other sleeps by their stack.
        let is_located_by_stack =
            sampled_state.is_some_and(|thread_state| !thread_state.state.is_wait());
        match event.what {
            What::SwitchOut(_) if sampled_state.is_some() => {}
            // The side band is ahead of the merge: the thread may have ended already.
            What::SwitchOut(Scheduling::Blocked) | What::Birth(Scheduling::Blocked)
                if self.processes.is_alive(event.thread) =>
            {
                let sleep = Sleep {
                    since: now,
                    thread_state: self.machine.thread_state_of(event.thread),
                    within: self.machine.within_of(event.thread),
                };
                let thread_state = self.tables.thread_states.get(sleep.thread_state.0);
                if thread_state.is_none_or(|thread_state| !thread_state.state.is_wait()) {
                    self.sleepers.sleeps(event.thread, sleep);
                }
            }
            What::SwitchIn | What::Exit => self.sleepers.wakes(event.thread),
            _ => {}
        }
        let thread = (self.processes.process_of(event.thread), event.thread);
        match event.what {
            What::OffCpu { .. } => {}
            What::Birth(Scheduling::Running) | What::SwitchIn => self.on_cpu.switch_in(thread, now),
            _ => self.on_cpu.switch_out(thread, now),
        }
        self.machine
            .apply(&mut self.tables, &mut self.accounting, event);
        if is_located_by_stack {
            self.accounting.sampled(event.thread);
        }
    }

    /// Reads the stacks of threads that sleep without a switch-out sample. But not of those that cannot
    /// sample themselves: such a stack would stand for their time on CPUs, too.
    fn read_sleepers(&mut self, source: &Source) {
        for (thread, sleep, stack) in self.sleepers.confirmed(self.merged_to) {
            if self.control.is_paused_at(sleep.since) {
                continue;
            }
            let Some(cpu) = sleepers::last_cpu(kernel_ids(&self.tables, thread)) else {
                // It has ended.
                continue;
            };
            self.counts.switch_samples += 1;
            // It stands for a switch-out sample.
            self.merged.push(Sample {
                time: Nanos(sleep.since),
                thread,
                cpu,
                kind: SampleKind::Blocked,
                stack,
                thread_state: sleep.thread_state,
                within: sleep.within,
            });
        }
        let now = clock::raw_now().saturating_sub(self.start);
        let (tables, processes, stacks) = (&mut self.tables, &mut self.processes, &mut self.stacks);
        self.sleepers.read_stacks(now, |thread| {
            let (pid, tid) = kernel_ids(tables, thread);
            if matches!(source, Source::Own { samples, .. } if !samples.has_slot((pid, tid))) {
                return None;
            }
            stacks.of_sleeper(tables, processes, (pid, tid), now)
        });
    }

    /// Number of samples that [`Merge::take_samples_out`] would return.
    pub fn samples_waiting(&self) -> usize {
        let of_counters = self.merged_of_counters.iter().map(Vec::len);
        self.merged.len() + of_counters.sum::<usize>()
    }

    /// Returns the samples merged since the last call, after completion of their truncated stacks; those of
    /// counters by counter.
    pub fn take_samples_out(&mut self) -> (Vec<Sample>, Vec<Vec<Sample>>) {
        self.dropped.written(self.merged_to);
        let mut samples = std::mem::take(&mut self.merged);
        let mut starts = Vec::with_capacity(self.merged_of_counters.len());
        for of_counter in &mut self.merged_of_counters {
            starts.push(samples.len());
            samples.append(of_counter);
        }
        let counts = &mut self.counts;
        self.completion
            .complete(&mut self.tables, &mut samples, |sample, how| {
                counts.completed(sample.kind, how);
            });
        let of_counters = starts.into_iter().rev();
        let mut of_counters: Vec<_> = of_counters.map(|at| samples.split_off(at)).collect();
        of_counters.reverse();
        for (number, samples) in of_counters.iter_mut().enumerate() {
            self.dropped.repeat(number, samples);
        }
        (samples, of_counters)
    }

    /// Returns the time accounted since the last call. Slices that have not ended stay, unless this is
    /// the end of the recording.
    pub fn take_rows(&mut self, end: Option<Nanos>) -> Rows {
        match end {
            Some(end) => {
                let (tables, accounting) = (&mut self.tables, &mut self.accounting);
                self.machine.finish(tables, accounting, end);
                self.accounting.finish(end);
            }
            None => {
                for (process, cpu_time) in self.processes.cpu_times(sys::cpu_time) {
                    self.on_cpu.take_cpu_time(process, self.merged_to, cpu_time);
                }
                self.accounting.advance(Nanos(self.merged_to));
            }
        }
        let mut rows = self.accounting.take();
        // Without a hypervisor the two differ only because clocks do, by parts in a million.
        // Without switch records, time off CPUs is missing from the kernel's account, too.
        if self.own_cpu_time.is_none() && self.on_cpu.has_stolen() && sys::steal() > self.steal {
            let processes = &self.processes;
            self.on_cpu
                .move_stolen(&mut rows.sums, |thread| processes.process_of(thread));
        }
        rows
    }

    /// Returns the counts of loops since the last call.
    pub fn take_loops(&mut self) -> Vec<LoopSum> {
        let now = self.merged_to;
        self.openmp
            .take_loops(&mut self.tables, &mut self.processes, now)
    }

    /// Returns the counts of mutexes and who waited for whom since the last call; `is_end` tells that
    /// nothing follows.
    pub fn take_locks(&mut self, is_end: bool) -> (Vec<LockSum>, Vec<LockWait>) {
        let now = self.merged_to;
        let waits = self.machine.take_lock_waits(Nanos(now));
        let places = (&mut self.tables, &mut self.processes);
        self.openmp.take_locks(waits, places, now, is_end)
    }

    /// Returns the calls of MPI, and the messages, since the last call; `is_end` tells that nothing follows. Calls that
    /// began while recording was paused are not among them.
    pub fn take_mpi(&mut self, is_end: bool) -> (Vec<MpiCall>, Vec<MpiMessage>) {
        let (mut calls, messages) = self.openmp.take_mpi(is_end);
        calls.retain(|call| !self.control.is_paused_at(call.start.0));
        (calls, messages)
    }

    /// Ends the recording: threads that are on a CPU stay on it until now.
    pub fn close(&mut self, end: Nanos) {
        self.on_cpu.close(end.0);
        // Their switch records were lost, or came after the end.
        self.merged.extend(self.switched_out.drain(..).flatten());
    }

    /// Takes the kernel's CPU time of the first process, which has ended, in nanoseconds.
    pub fn ended(&mut self, cpu_time: u64) {
        let cpu_time = cpu_time.saturating_sub(self.processes.cpu_time_before);
        self.on_cpu.take_last_cpu_time(ProcessId(0), cpu_time);
    }

    /// Time of all threads on CPUs so far, without pauses, and what a hypervisor took of it, in nanoseconds.
    pub fn on_cpu(&self) -> (u64, u64) {
        let total = match self.own_cpu_time {
            Some(time) => (time, 0),
            None => self.on_cpu.total(self.merged_to),
        };
        let paused = if self.control.is_paused() {
            self.in_pauses(total)
        } else {
            self.paused_for
        };
        (
            total.0.saturating_sub(paused.0),
            total.1.saturating_sub(paused.1),
        )
    }

    /// What of [`OnCpu::total`] was in pauses, at the end of one.
    fn in_pauses(&self, total: (u64, u64)) -> (u64, u64) {
        let (before, at) = (self.paused_for, self.paused_at);
        (
            before.0 + total.0.saturating_sub(at.0),
            before.1 + total.1.saturating_sub(at.1),
        )
    }

    /// The time up to which all is merged, in nanoseconds since the start.
    pub fn merged_to(&self) -> u64 {
        self.merged_to
    }

    /// What was lost so far, and when.
    pub fn lost(&self) -> Lost {
        let mut lost = self.counts.lost.clone();
        lost.extend(&self.openmp.lost(self.merged_to));
        lost
    }

    /// Regions that were not over when their process ended.
    pub fn regions_left_open(&self) -> u64 {
        self.machine.regions_left_open()
    }

    /// OpenMP records, switches and samples that came late, in the merge or within their thread.
    pub fn late(&self) -> u64 {
        self.counts.late + self.accounting.late()
    }
}

/// The kernel's process id and thread id of a thread.
fn kernel_ids(tables: &Tables, thread: ThreadId) -> (i32, i32) {
    let thread = &tables.threads[thread.index()];
    (tables.processes[thread.process.index()].pid, thread.tid)
}

/// The thread of a record. If the side band has no begin of the thread, because that is lost or has
/// yet to come, it begins now.
fn thread_of(
    processes: &mut Processes,
    tables: &mut Tables,
    (pid, tid): (i32, i32),
    time: u64,
) -> ThreadId {
    match processes.thread_at(tid, time) {
        Some(thread) => thread,
        None => processes.adopt(tables, pid, tid, time),
    }
}

mod samples;
#[cfg(test)]
mod tests;
