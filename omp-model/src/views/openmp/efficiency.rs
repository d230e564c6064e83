//! Where a run's threads lose time, in POP's additive hierarchy: the losses of the children add up
//! to the loss of their parent (<https://co-design.pop-coe.eu/metrics/hybrid_additive>).

use experiment::ids::{ContextId, Nanos, ProcessId, ThreadId};
use experiment::state::Scheduling;
use experiment::tables::{Tables, ThreadKind};

use super::crowd::Cpus;
use super::innermost_regions;
use super::regions::RegionRow;
use crate::metrics::Metric;
use crate::profile::{Item, Profile};
use crate::states::RefinedState;

/// A node of the hierarchy.
#[derive(Clone, Debug, PartialEq)]
pub struct Efficiency {
    /// The key in JSON.
    pub id: &'static str,
    /// The name shown.
    pub label: &'static str,
    /// The share of the threads' time that is lost, 0 to 1.
    pub loss: f64,
    /// The causes, whose losses add up to this loss.
    pub children: Vec<Efficiency>,
}

impl Efficiency {
    fn leaf(id: &'static str, label: &'static str, loss: f64) -> Efficiency {
        Efficiency {
            id,
            label,
            loss,
            children: Vec::new(),
        }
    }

    fn node(id: &'static str, label: &'static str, children: Vec<Efficiency>) -> Efficiency {
        Efficiency {
            loss: children.iter().map(|child| child.loss).sum(),
            ..Efficiency::leaf(id, label, 0.0)
        }
        .with(children)
    }

    fn with(self, children: Vec<Efficiency>) -> Efficiency {
        Efficiency { children, ..self }
    }

    /// The efficiency: 1 is perfect.
    pub fn value(&self) -> f64 {
        1.0 - self.loss
    }
}

/// Serial code, and the speedup that it allows.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Serial {
    /// Wall seconds outside every region.
    pub seconds: f64,
    /// Of these, the seconds at useful work.
    pub useful: f64,
    /// Of these, the seconds in the runtime.
    pub runtime: f64,
    /// Of these, the seconds off the CPU.
    pub off_cpu: f64,
    /// Wall seconds of the process.
    pub wall: f64,
    /// Threads of the process.
    pub threads: usize,
    /// The process's initial thread.
    pub thread: ThreadId,
}

impl Serial {
    /// Amdahl's bound: how many times faster the process could run with `threads` times as many
    /// threads.
    pub fn bound(&self, threads: f64) -> f64 {
        let parallel = self.wall - self.seconds;
        self.wall / (self.seconds + parallel / threads)
    }

    /// Amdahl's bound for any number of threads; infinite without serial code.
    pub fn limit(&self) -> f64 {
        self.wall / self.seconds
    }
}

/// What is left of a sum of measured seconds, or of shares of one. Times are measured in nanoseconds;
/// less than that is rounding of the sum.
pub(super) fn rest(value: f64) -> f64 {
    if value.abs() < 1e-9 { 0.0 } else { value }
}

/// How well a run's threads used its time.
#[derive(Clone, Debug, PartialEq)]
pub struct Run {
    /// Wall seconds from the begin of the first OpenMP thread to the end of the last one.
    pub wall: f64,
    /// Number of processes that use OpenMP.
    pub processes: usize,
    /// Threads of all processes: for each process, the most that OpenMP had at one time.
    pub threads: usize,
    /// How many of them can be at work at one time: all, or as many as there are CPUs.
    pub at_once: usize,
    /// The parallel efficiency with its components below it.
    pub efficiency: Efficiency,
    /// What the threads did.
    pub spent: Spent,
    /// Serial code of the process with most time; `None` if several of its threads encounter
    /// regions, so that none of its code is known to run alone.
    pub serial: Option<Serial>,
}

impl Run {
    /// How many times faster the run would be if it saved `gain` wall seconds.
    pub fn without(&self, gain: f64) -> f64 {
        self.wall / (self.wall - gain).max(f64::MIN_POSITIVE)
    }
}

/// Thread seconds of a run: its wall time, once for each of its threads.
///
/// What regions lose to each cause ([`RegionRow::lost`]) is the rest.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Spent {
    /// Useful work.
    pub useful: f64,
    /// The other threads, while the initial thread of their process did useful work outside of
    /// regions.
    pub serial: f64,
    /// All threads, while the initial thread was in the runtime outside of regions.
    pub serial_runtime: f64,
    /// All threads, while the initial thread was off the CPU outside of regions, or not alive.
    pub serial_off_cpu: f64,
    /// Threads in no team, while their process was in a region.
    pub no_team: f64,
}

/// A process that uses OpenMP.
#[derive(Clone, Copy, Debug)]
struct Process {
    initial: ThreadId,
    /// Whether only the initial thread encounters outermost regions. Else several threads that the
    /// program created do, or a helper thread of the runtime does in a task.
    alone: bool,
    start: u64,
    end: u64,
    threads: usize,
    /// Seconds of initial threads inside regions.
    inside: f64,
    /// Useful seconds of its threads in regions.
    useful_inside: f64,
    /// Seconds of initial threads outside regions: at useful work, in the runtime, and off the CPU.
    serial_useful: f64,
    serial_runtime: f64,
    serial_off_cpu: f64,
}

impl Process {
    /// Its thread seconds in a run of `wall` seconds; what regions lose counts as
    /// [`Spent::no_team`].
    ///
    /// If one thread encounters all regions, no other has anything to do while it is outside of
    /// them. Else others may be in regions at that time, so only its own time is known to be
    /// serial.
    fn spent(&self, wall: f64) -> Spent {
        let threads = self.threads as f64;
        let lived = Nanos(self.end - self.start).seconds();
        let (times, absent) = if self.alone {
            let known = self.inside + self.serial_useful + self.serial_runtime;
            let absent = rest(wall - known - self.serial_off_cpu);
            (threads, threads * absent)
        } else {
            (1.0, threads * rest(wall - lived))
        };
        let useful = self.useful_inside + self.serial_useful;
        let serial = (times - 1.0) * self.serial_useful;
        let serial_runtime = times * self.serial_runtime;
        let serial_off_cpu = times * self.serial_off_cpu + absent;
        Spent {
            useful,
            serial,
            serial_runtime,
            serial_off_cpu,
            no_team: rest(threads * wall - useful - serial - serial_runtime - serial_off_cpu),
        }
    }

    /// Its thread seconds inside regions and at useful work outside of them.
    fn busy(&self, wall: f64) -> f64 {
        let spent = self.spent(wall);
        self.threads as f64 * wall - spent.serial_runtime - spent.serial_off_cpu
    }

    fn serial(&self) -> Option<Serial> {
        let wall = Nanos(self.end - self.start).seconds();
        self.alone.then_some(Serial {
            seconds: wall - self.inside,
            useful: self.serial_useful,
            runtime: self.serial_runtime,
            off_cpu: self.serial_off_cpu,
            wall,
            threads: self.threads,
            thread: self.initial,
        })
    }
}

/// The efficiencies of a run; `None` without OpenMP. `profile` is in user mode and unfiltered, and
/// `regions` are its regions.
pub fn efficiency(
    profile: &Profile,
    tables: &Tables,
    measured: &super::Measured<'_>,
    regions: &[RegionRow],
) -> Option<Run> {
    let processes = processes(profile, tables, measured);
    let start = processes.iter().map(|process| process.start).min()?;
    let end = processes.iter().map(|process| process.end).max()?;
    let wall = Nanos(end - start).seconds();
    let threads: usize = processes.iter().map(|process| process.threads).sum();
    if wall <= 0.0 || threads == 0 {
        return None;
    }
    let mut spent = Spent::default();
    for process in &processes {
        let more = process.spent(wall);
        spent.useful += more.useful;
        spent.serial += more.serial;
        spent.serial_runtime += more.serial_runtime;
        spent.serial_off_cpu += more.serial_off_cpu;
        spent.no_team += more.no_team;
    }
    let inside_loss = spent.no_team;
    let lost: f64 = regions.iter().flat_map(|row| row.lost).sum();
    spent.no_team = rest(spent.no_team - lost);

    let room = wall * threads as f64;
    let busy: f64 = processes.iter().map(|process| process.busy(wall)).sum();
    let busiest = processes
        .iter()
        .map(|process| process.busy(wall) / (process.threads as f64 * wall))
        .fold(0.0, f64::max);
    let root = Efficiency::node(
        "parallel",
        "Parallel efficiency",
        vec![
            Efficiency::leaf(
                "process_balance",
                "Process load balance",
                rest(busiest - busy / room),
            ),
            Efficiency::leaf(
                "process_communication",
                "Process communication (serial code not at work)",
                rest(1.0 - busiest),
            ),
            Efficiency::node(
                "thread",
                "Thread efficiency",
                vec![
                    inside_regions(inside_loss, spent.no_team, room, regions),
                    Efficiency::leaf("serial", "Serial region efficiency", spent.serial / room),
                ],
            ),
        ],
    );
    let main = processes.iter().max_by(|left, right| {
        let time = |it: &Process| it.useful_inside + it.serial_useful;
        time(left).total_cmp(&time(right))
    })?;
    Some(Run {
        wall,
        processes: processes.len(),
        threads,
        at_once: at_once(&processes, threads, measured),
        efficiency: root,
        spent,
        serial: main.serial(),
    })
}

/// How many of the threads can be at work at one time: those of a process on the CPUs that it has.
fn at_once(processes: &[Process], threads: usize, measured: &super::Measured<'_>) -> usize {
    let Cpus { all, each } = measured.cpus;
    if all == 0 {
        return threads;
    }
    let of_each = processes.iter().map(|it| it.threads.min(each as usize));
    of_each.sum::<usize>().min(all as usize)
}

/// The loss inside regions and its parts, of `loss` thread seconds, of which threads in no team have
/// `no_team`. Uneven work and overhead may overlap (a thread with less work may spend the difference
/// in the runtime): such time counts as uneven work.
fn inside_regions(loss: f64, no_team: f64, room: f64, regions: &[RegionRow]) -> Efficiency {
    let uneven: f64 = regions.iter().map(|row| row.uneven).sum();
    let overhead: f64 = regions
        .iter()
        .map(|row| {
            row.time(Metric::State(RefinedState::Overhead))
                + row.time(Metric::State(RefinedState::Reduction))
        })
        .sum();
    // The sum of nothing is -0.
    let (uneven, overhead) = (rest(uneven), rest(overhead));
    let overhead = overhead.min(rest(loss - no_team - uneven));
    let others = rest(loss - no_team - uneven - overhead);
    let leaf = |id, label, seconds: f64| Efficiency::leaf(id, label, seconds / room);
    Efficiency::node(
        "omp_region",
        "OpenMP region efficiency",
        vec![
            leaf("load_balance", "Load balance", uneven),
            leaf("overhead", "Runtime overhead", overhead),
            leaf("scheduling", "Scheduling and waits", others),
            leaf("no_team", "Threads in no team", no_team),
        ],
    )
}

/// The processes with an initial thread, without their times.
fn openmp_processes(tables: &Tables, duration: Nanos) -> Vec<(ProcessId, Process)> {
    let mut found: Vec<(ProcessId, Process)> = Vec::new();
    let end_of = |death: Option<Nanos>| death.unwrap_or(duration).0;
    for (thread, id) in tables.threads.iter().zip((0..).map(ThreadId)) {
        if thread.kind != ThreadKind::Initial {
            continue;
        }
        match found.iter_mut().find(|(it, _)| *it == thread.process) {
            Some((_, process)) => process.alone = false,
            None => {
                let process = Process {
                    initial: id,
                    alone: true,
                    start: thread.birth.0,
                    end: end_of(thread.death),
                    threads: 0,
                    inside: 0.0,
                    useful_inside: 0.0,
                    serial_useful: 0.0,
                    serial_runtime: 0.0,
                    serial_off_cpu: 0.0,
                };
                found.push((thread.process, process));
            }
        }
    }
    for (id, process) in &mut found {
        let mut changes: Vec<(u64, i32)> = Vec::new();
        let of_process = tables.threads.iter().filter(|it| it.process == *id);
        for thread in of_process.filter(|it| it.kind.is_in_teams()) {
            let end = end_of(thread.death);
            if end <= thread.birth.0 {
                continue;
            }
            process.start = process.start.min(thread.birth.0);
            process.end = process.end.max(end);
            changes.extend([(thread.birth.0, 1), (end, -1)]);
        }
        // An end sorts before a begin at the same time.
        changes.sort_unstable();
        let mut alive = 0;
        for (_, change) in changes {
            alive += change;
            process.threads = process.threads.max(alive as usize);
        }
    }
    found.retain(|(_, process)| process.threads > 0);
    found
}

/// Whether an item is useful work of its process: user code on a CPU, of a team's thread inside
/// regions, outside of them of the initial thread alone.
pub(super) fn is_useful(item: &Item, kind: ThreadKind, in_region: bool) -> bool {
    let user = matches!(item.state, RefinedState::Work | RefinedState::Serial);
    let counts = kind == ThreadKind::Initial || kind.is_in_teams() && in_region;
    counts && user && item.scheduling == Scheduling::Running
}

/// The processes with an initial thread, and their times.
fn processes(profile: &Profile, tables: &Tables, measured: &super::Measured<'_>) -> Vec<Process> {
    let mut found = openmp_processes(tables, measured.duration);
    // An initial thread is in a region from the region's begin to its end, so its time there is the
    // union of its outermost regions, those without an end included.
    let regions = innermost_regions(tables);
    let in_region = |context: ContextId| {
        let region = regions.get(context.index());
        region.is_some_and(|&region| region != ContextId::ROOT)
    };
    for item in &profile.items {
        let Some(thread) = tables.threads.get(item.thread.index()) else {
            continue;
        };
        let Some((_, process)) = found.iter_mut().find(|(id, _)| *id == thread.process) else {
            continue;
        };
        if !thread.kind.is_in_teams() {
            process.alone &= thread.kind != ThreadKind::Other || !in_region(item.context);
            continue;
        }
        let initial = thread.kind == ThreadKind::Initial;
        let user = matches!(item.state, RefinedState::Work | RefinedState::Serial);
        let inside = in_region(item.context);
        let useful = is_useful(item, thread.kind, inside);
        if inside {
            process.inside += if initial { item.seconds } else { 0.0 };
            process.useful_inside += if useful { item.seconds } else { 0.0 };
        } else if useful {
            process.serial_useful += item.seconds;
        } else if initial && user {
            process.serial_off_cpu += item.seconds;
        } else if initial {
            process.serial_runtime += item.seconds;
        }
    }
    found.into_iter().map(|(_, process)| process).collect()
}

#[cfg(test)]
mod tests;
