//! Opens the events and ring buffers of a plan.
//!
//! Each CPU has up to four events, each with a ring of its own: clock samples, side-band records,
//! switch-out samples and major page faults; and one for each counter. A flood of samples can therefore
//! never cost a mapping or a switch record. The event of the side band samples minor page faults. All
//! events are attached to the first process. Its threads and children inherit them. They are enabled at
//! its `exec`. On a process that runs already, each thread gets events of its own, which write to the same
//! rings; they are enabled together.
//!
//! Each CPU alone writes to its rings, as the kernel needs it: it orders writers of one CPU only. So no
//! event has `inherit_stat`. With it a thread that ends writes its counts to the rings of all CPUs,
//! from the one that it ends on, beside what those CPUs write (`sync_child_event` in
//! kernel/events/core.c): of 20,000 threads of a moment, a ring was destroyed in half of the runs.

use std::io;
use std::os::fd::{AsRawFd, RawFd};

use experiment::rows::FAULTS_EACH;
use perf_event_open::config::{
    CallChain, Clock, Cpu, ExtraRecord, Inherit, Mmap, OnExecve, Opts, Priv, Proc, RecordIdFormat,
    RegsMask, SampleFormat, SampleOn, Size, UseBuildId, WakeUp, WakeUpOn,
};
use perf_event_open::count::{Counter, Stat};
use perf_event_open::event::dp::DynamicPmu;
use perf_event_open::event::hw::Hardware;
use perf_event_open::event::sw::Software;
use perf_event_open::sample::Sampler;

use super::counters::{self, Counter as Counted, OnCpu};
use super::parse::{USER_REGS, sample_time};
use super::plan::{
    Impossible, Plan, Refusal, SampleEvent, Situation, Stage, step_down, without_remedy,
};
use crate::{clock, sys};

/// Approximate number of switch-out samples that one CPU takes in a second. A stack at each of the
/// 80,000 switches of sleeping OpenMP waits would be 1.3 GB/s. The kernel adapts the period of a
/// software event only while its threads run. After a burst of preemptions it therefore misses most
/// of the rare sleeps, and misses more of them the lower this rate is.
const SWITCH_STACKS_HZ: u64 = 400;

/// How many more files must be allowed to be open: the experiment's, and those in `/proc`.
const FILES_LEFT: usize = 8;

/// What a ring holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Content<'a> {
    /// Clock samples.
    Samples,
    /// mmap, comm, fork, exit and switch records.
    SideBand,
    /// Switch-out samples.
    SwitchStacks,
    /// Major page faults.
    MajorFaults,
    /// The samples of a counter, which has this number.
    Counter(usize, &'a Counted),
}

/// One event on one CPU, and its ring.
pub struct Ring {
    cpu: u16,
    counter: Counter,
    /// The same event on other threads, of a process that ran already. They write to the same ring.
    others: Vec<Counter>,
    sampler: Sampler,
    /// The first sample at or after the time limit of the last [`Ring::drain`].
    held: Vec<u8>,
    /// The time of the last record read, in nanoseconds since the start; kept by the reader.
    pub read_to: u64,
}

/// All rings.
pub struct Rings {
    /// The plan that the kernel accepted.
    pub plan: Plan,
    /// One sentence on each thing that the kernel refused.
    pub notes: Vec<String>,
    /// Clock samples, one ring per CPU; empty with `-p off`.
    pub samples: Vec<Ring>,
    /// Side-band records, one ring per CPU.
    pub side_band: Vec<Ring>,
    /// Switch-out samples, one ring per CPU; empty where not permitted.
    pub switch_stacks: Vec<Ring>,
    /// Major page faults, one ring per CPU; empty where not permitted.
    pub major_faults: Vec<Ring>,
    /// Samples of counters: of each, one ring per CPU.
    pub counters: Vec<Vec<Ring>>,
    /// Keep the events of threads that are not inherited with them ([`unshared`]); none where not
    /// permitted.
    pub unshared: Vec<Counter>,
}

impl Rings {
    /// Opens all events on these threads: a process that waits before its `exec`, which enables them, or
    /// all threads of one that runs. Steps `plan` down until the kernel accepts it. Counters were asked
    /// for by name, and none is left out.
    pub fn open(
        tids: &[i32],
        mut plan: Plan,
        counters: &[Counted],
        situation: Situation,
    ) -> Result<Rings, Impossible> {
        let cpus = online_cpus();
        let own = sys::own_cpus();
        let cpus: Vec<(u32, bool)> = cpus.iter().map(|cpu| (*cpu, own.contains(cpu))).collect();
        let mut notes = Vec::new();
        loop {
            match Rings::attempt(tids, &plan, counters, &cpus) {
                Ok(mut rings) => {
                    if !sys::may_open(FILES_LEFT)
                        && let Some(impossible) = without_remedy(libc::EMFILE)
                    {
                        return Err(impossible);
                    }
                    rings.notes = notes;
                    return Ok(rings);
                }
                Err(refusal) => {
                    let is_forbidden = matches!(refusal.errno, libc::EACCES | libc::EPERM);
                    if let Stage::Counter(number) = refusal.stage
                        && !(is_forbidden && plan.kernel)
                    {
                        let counter = &counters[number];
                        return Err(counters::refused(counter, refusal.errno, situation));
                    }
                    let (less, note) = step_down(&plan, refusal, situation)?;
                    plan = less;
                    notes.extend(note);
                }
            }
        }
    }

    fn attempt(
        tids: &[i32],
        plan: &Plan,
        counters: &[Counted],
        cpus: &[(u32, bool)],
    ) -> Result<Rings, Refusal> {
        let open_each = |wanted, content: Content<'_>| -> Result<Vec<Ring>, Refusal> {
            let cpus = if wanted { cpus } else { &[] };
            let mut rings = Vec::with_capacity(cpus.len());
            for cpu in cpus {
                match Ring::open(tids, *cpu, plan, content) {
                    // The CPU went offline.
                    Err(Refusal {
                        errno: libc::ENODEV,
                        ..
                    }) if !rings.is_empty() => {}
                    ring => rings.push(ring?),
                }
            }
            Ok(rings)
        };
        Ok(Rings {
            plan: *plan,
            notes: Vec::new(),
            side_band: open_each(true, Content::SideBand)?,
            samples: open_each(plan.event.is_some(), Content::Samples)?,
            switch_stacks: open_each(plan.switch_stacks, Content::SwitchStacks)?,
            major_faults: open_each(true, Content::MajorFaults).unwrap_or_default(),
            counters: counters
                .iter()
                .enumerate()
                .map(|(number, counter)| open_each(true, Content::Counter(number, counter)))
                .collect::<Result<_, _>>()?,
            unshared: tids.iter().filter_map(|tid| unshared(*tid)).collect(),
        })
    }

    /// Enables all events, of threads whose `exec` does not. Returns the time from which on all of them
    /// record; earlier samples are dropped.
    ///
    /// # Errors
    /// That of the kernel.
    pub fn enable(&mut self) -> io::Result<u64> {
        Counter::enable_all()?;
        for ring in self.samples.iter_mut().chain(&mut self.switch_stacks) {
            let _ = ring.drain(u64::MAX, |_| {});
        }
        Ok(clock::raw_now())
    }

    /// The file descriptors to poll. One is readable when its ring is half full.
    pub fn descriptors(&self) -> impl Iterator<Item = RawFd> + '_ {
        self.side_band
            .iter()
            .chain(&self.samples)
            .chain(&self.switch_stacks)
            .chain(self.counters.iter().flatten())
            .map(|ring| ring.counter.file().as_raw_fd())
    }

    /// What the kernel has counted so far of each counter, on all CPUs. The event of the side band is
    /// always counted, and tells for how long there was something to count.
    pub fn counted(&self) -> Vec<(u64, f64)> {
        let on_cpu = |ring: &Ring| {
            let all = self.side_band.iter().find(|it| it.cpu == ring.cpu)?;
            let mut sum = OnCpu::default();
            for (counted, all) in ring.stats().zip(all.stats()) {
                sum.events += counted.count;
                sum.counted += counted.time_running?;
                sum.ran += all.time_running?;
            }
            Some(sum)
        };
        let of = |rings: &Vec<Ring>| counters::scaled(rings.iter().filter_map(on_cpu));
        self.counters.iter().map(of).collect()
    }
}

impl Ring {
    /// `is_allowed` tells whether the program may run on this CPU at its start.
    fn open(
        tids: &[i32],
        (cpu, is_allowed): (u32, bool),
        plan: &Plan,
        content: Content<'_>,
    ) -> Result<Ring, Refusal> {
        let sizes = plan.rings(is_allowed);
        let (stage, exponent) = match content {
            Content::Samples => (Stage::Samples, sizes.samples),
            Content::SideBand => (Stage::SideBand, sizes.side_band),
            Content::SwitchStacks => (Stage::SwitchStacks, sizes.switch_stacks),
            // A page holds 120 of them; they wait for the disk.
            Content::MajorFaults => (Stage::SideBand, 0),
            Content::Counter(number, counter) => {
                if counter.is_of_the_kernel() && !plan.kernel {
                    return Err(Refusal {
                        stage: Stage::Counter(number),
                        errno: libc::EACCES,
                    });
                }
                (Stage::Counter(number), sizes.samples - 1)
            }
        };
        let mut options = options(plan, content, exponent);
        let try_open = |tid: i32, options: &Opts| {
            let target = (Proc(tid as u32), Cpu(cpu));
            match (content, plan.event) {
                (Content::Samples, Some(SampleEvent::Cycles)) => {
                    Counter::new(Hardware::CpuCycle, target, options)
                }
                (Content::Samples, _) => Counter::new(Software::CpuClock, target, options),
                (Content::SideBand, _) => Counter::new(Software::MinorPageFault, target, options),
                (Content::MajorFaults, _) => {
                    Counter::new(Software::MajorPageFault, target, options)
                }
                (Content::SwitchStacks, _) => Counter::new(Software::CtxSwitch, target, options),
                (Content::Counter(_, counter), _) => Counter::new(event(counter), target, options),
            }
        };
        let mut open = |tid: i32| {
            let mut counter = try_open(tid, &options);
            if counter.is_err() && options.stat_format.lost_records {
                // Before Linux 6.0.
                options.stat_format.lost_records = false;
                counter = try_open(tid, &options);
            }
            counter
        };
        // A thread may have ended since it was listed.
        let mut counters = Vec::with_capacity(tids.len());
        for tid in tids {
            match open(*tid) {
                Err(error) if error.raw_os_error() == Some(libc::ESRCH) => {}
                counter => counters.push(counter.map_err(|error| refusal(stage, &error))?),
            }
        }
        let mut counters = counters.into_iter();
        let counter = counters.next().ok_or(Refusal {
            stage,
            errno: libc::ESRCH,
        })?;
        let others: Vec<Counter> = counters.collect();
        let sampler = counter
            .sampler(exponent)
            .map_err(|error| refusal(Stage::Ring, &error))?;
        for other in &others {
            sys::write_to_ring_of(other.file().as_raw_fd(), counter.file().as_raw_fd())
                .map_err(|error| refusal(Stage::Ring, &error))?;
        }
        Ok(Ring {
            cpu: cpu as u16,
            counter,
            others,
            sampler,
            held: Vec::new(),
            read_to: 0,
        })
    }

    /// The CPU.
    pub fn cpu(&self) -> u16 {
        self.cpu
    }

    /// The number of samples for which the ring had no room, where the kernel counts them.
    pub fn dropped(&self) -> Option<u64> {
        self.stats().map(|stat| stat.lost_records).sum()
    }

    /// What the kernel tells of its events: one for each thread on which they were opened.
    fn stats(&self) -> impl Iterator<Item = Stat> {
        let all = std::iter::once(&self.counter).chain(&self.others);
        all.filter_map(|counter| counter.stat().ok())
    }

    /// Passes each record to `each` and frees its room in the ring. Stops at the first sample at or
    /// after time `until`: keeps a copy of that sample and leaves the rest in the ring. Returns whether
    /// the ring is intact: a record without a length cannot be passed over, and would be read for ever.
    #[must_use]
    pub fn drain(&mut self, until: u64, mut each: impl FnMut(&[u8])) -> bool {
        if !self.held.is_empty() {
            if sample_time(&self.held).is_some_and(|time| time >= until) {
                return true;
            }
            each(&self.held);
            self.held.clear();
        }
        let Some(records) = self.sampler.iter() else {
            return true;
        };
        let mut records = records.into_cow();
        while let Some(record) = records.lending_next() {
            let bytes = record.as_raw().as_bytes();
            if bytes.is_empty() {
                return false;
            }
            if sample_time(bytes).is_some_and(|time| time >= until) {
                self.held.extend_from_slice(bytes);
                return true;
            }
            each(bytes);
        }
        true
    }
}

/// The event of a counter.
fn event(counter: &Counted) -> DynamicPmu {
    let [config, config1, config2] = counter.event.config;
    DynamicPmu {
        ty: counter.event.pmu,
        config,
        config1,
        config2,
        config3: 0,
    }
}

/// Tries to open a counter on this process, as on a program that is recorded.
///
/// # Errors
/// `errno`.
pub fn try_counter(counter: &Counted) -> Result<(), i32> {
    let mut plan = Plan::wished(None, true, 1);
    loop {
        if counter.is_of_the_kernel() && !plan.kernel {
            return Err(libc::EACCES);
        }
        let mut options = options(&plan, Content::Counter(0, counter), 0);
        options.stat_format.lost_records = false;
        // Nothing is executed, so nothing is counted.
        let cpu = online_cpus().first().copied().unwrap_or(0);
        let opened = Counter::new(event(counter), (Proc::CURRENT, Cpu(cpu)), options);
        let Err(error) = opened else {
            return Ok(());
        };
        let errno = refusal(Stage::Counter(0), &error).errno;
        if !plan.kernel || !matches!(errno, libc::EACCES | libc::EPERM) {
            return Err(errno);
        }
        plan.kernel = false;
    }
}

/// An event of the first thread alone, which is never enabled.
///
/// Where all events are inherited, the kernel lets threads exchange their events at a switch
/// (`perf_event_context_sched_out` in kernel/events/core.c). With an event that is not inherited, the
/// first thread keeps its own. Otherwise a thread that ends takes them along, and the clock begins its
/// period anew: of a program that makes 20,000 threads of a moment, one sample in a hundred remained.
fn unshared(pid: i32) -> Option<Counter> {
    let target = (Proc(pid as u32), Cpu::ALL);
    Counter::new(Software::Dummy, target, Opts::default()).ok()
}

fn refusal(stage: Stage, error: &io::Error) -> Refusal {
    // The crate's own refusals, of features that it was built without, have no number.
    Refusal {
        stage,
        errno: error.raw_os_error().unwrap_or(libc::EOPNOTSUPP),
    }
}

/// The attributes of one event.
fn options(plan: &Plan, content: Content<'_>, exponent: u8) -> Opts {
    let follow = if plan.follow {
        Inherit::NewChild
    } else {
        Inherit::NewThread
    };
    let half_ring = (PAGE << exponent) / 2;
    let mut options = Opts {
        exclude: Priv {
            kernel: !plan.kernel,
            hv: !plan.kernel,
            ..Priv::default()
        },
        inherit: Some(follow),
        on_execve: Some(OnExecve::Enable),
        record_id_all: true,
        record_id_format: RecordIdFormat {
            cpu: true,
            task: true,
            time: true,
            ..RecordIdFormat::default()
        },
        wake_up: WakeUp {
            on: WakeUpOn::Bytes(half_ring),
            on_aux_bytes: 0,
        },
        timer: Some(Clock::MonotonicRaw),
        ..Opts::default()
    };
    match content {
        Content::Samples => {
            options.sample_format = stack_format(plan);
            options.sample_on = match plan.event {
                Some(SampleEvent::Cycles) => SampleOn::Freq((1e6 / plan.period_us).ceil() as u64),
                _ => SampleOn::Count((plan.period_us * 1000.0) as u64),
            };
        }
        Content::SwitchStacks => {
            options.sample_format = stack_format(plan);
            options.sample_on = SampleOn::Freq(SWITCH_STACKS_HZ);
        }
        Content::SideBand => {
            options.extra_record = ExtraRecord {
                task: true,
                comm: true,
                mmap: Mmap {
                    code: true,
                    data: false,
                    ext: Some(UseBuildId(plan.build_ids)),
                },
                ctx_switch: plan.switches,
                ..ExtraRecord::default()
            };
            options.sample_on = SampleOn::Count(FAULTS_EACH);
        }
        Content::MajorFaults => options.sample_on = SampleOn::Count(1),
        Content::Counter(_, counter) => {
            options.sample_format = stack_format(plan);
            options.sample_on = SampleOn::Count(counter.interval);
        }
    }
    options.stat_format.time_running = matches!(content, Content::SideBand | Content::Counter(..));
    options.stat_format.lost_records = !matches!(content, Content::SideBand | Content::MajorFaults);
    options
}

/// What a sample with a stack holds.
fn stack_format(plan: &Plan) -> SampleFormat {
    SampleFormat {
        code_addr: true,
        call_chain: Some(CallChain {
            exclude_user: true,
            exclude_kernel: !plan.kernel,
            defer_user: false,
            max_stack_frames: 0,
        }),
        user_regs: Some(RegsMask(USER_REGS)),
        user_stack: Some(Size(plan.stack_bytes)),
        ..SampleFormat::default()
    }
}

const PAGE: u32 = 4096;

/// CPUs that are on line, by number.
fn online_cpus() -> Vec<u32> {
    let listed = std::fs::read_to_string("/sys/devices/system/cpu/online").unwrap_or_default();
    let cpus = cpu_list(listed.trim());
    if cpus.is_empty() {
        sys::own_cpus()
    } else {
        cpus
    }
}

/// A list in the kernel's manner: `0-3,8`.
pub(crate) fn cpu_list(text: &str) -> Vec<u32> {
    text.split(',')
        .filter_map(|range| {
            let (first, last) = range.split_once('-').unwrap_or((range, range));
            Some(first.parse::<u32>().ok()?..=last.parse::<u32>().ok()?)
        })
        .flatten()
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cpu_lists_are_read_as_the_kernel_writes_them() {
        assert_eq!(cpu_list("0-3,8,10-11"), [0, 1, 2, 3, 8, 10, 11]);
        assert_eq!(cpu_list("0"), [0]);
        assert!(cpu_list("").is_empty());
    }
}
