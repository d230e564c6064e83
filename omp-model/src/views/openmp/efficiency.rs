//! Where a run's threads lose time, in POP's additive hierarchy: the losses of the children add up
//! to the loss of their parent (<https://co-design.pop-coe.eu/metrics/hybrid_additive>).

use experiment::ids::{ContextId, Nanos, ProcessId, ThreadId};
use experiment::state::Scheduling;
use experiment::tables::{Tables, ThreadKind};

use super::gain::Cause;
use super::innermost_regions;
use super::regions::RegionRow;
use crate::metrics::Metric;
use crate::profile::{Profile, RefinedState};

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
    /// Of these, the seconds on a CPU.
    pub useful: f64,
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

    /// How many times faster the process would run if it saved `gain` seconds.
    pub fn without(&self, gain: f64) -> f64 {
        self.wall / (self.wall - gain).max(f64::MIN_POSITIVE)
    }
}

/// How well a run's threads used its time.
#[derive(Clone, Debug, PartialEq)]
pub struct Run {
    /// Wall seconds from the begin of the first OpenMP thread to the end of the last one.
    pub wall: f64,
    /// Threads of all processes: for each process, the most that OpenMP had at one time.
    pub threads: usize,
    /// The parallel efficiency with its components below it.
    pub efficiency: Efficiency,
    /// Serial code of the process with most time.
    pub serial: Serial,
}

/// A process that uses OpenMP.
#[derive(Clone, Copy, Debug)]
struct Process {
    initial: ThreadId,
    start: u64,
    end: u64,
    threads: usize,
    /// Seconds of the initial thread inside regions.
    inside: f64,
    /// Useful seconds of all threads in regions, and of the initial thread outside.
    useful_inside: f64,
    serial_useful: f64,
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
    let room = wall * threads as f64;
    let weighted = |value: &dyn Fn(&Process) -> f64| -> f64 {
        let all = processes.iter();
        all.map(|it| it.threads as f64 * value(it)).sum::<f64>() / room
    };
    let plain = |value: &dyn Fn(&Process) -> f64| processes.iter().map(value).sum::<f64>() / room;

    let busiest = processes.iter().map(|it| it.inside + it.serial_useful);
    let busiest = busiest.fold(0.0, f64::max) / wall;
    let busy = weighted(&|it| it.inside + it.serial_useful);
    let inside_loss = weighted(&|it| it.inside) - plain(&|it| it.useful_inside);
    let serial_loss = weighted(&|it| it.serial_useful) - plain(&|it| it.serial_useful);

    let root = Efficiency::node(
        "parallel",
        "Parallel efficiency",
        vec![
            Efficiency::leaf("process_balance", "Process load balance", busiest - busy),
            Efficiency::leaf(
                "process_communication",
                "Process communication (serial code off the CPU)",
                1.0 - busiest,
            ),
            Efficiency::node(
                "thread",
                "Thread efficiency",
                vec![
                    inside_regions(inside_loss, room, &processes, regions),
                    Efficiency::leaf("serial", "Serial region efficiency", serial_loss),
                ],
            ),
        ],
    );
    let main = processes.iter().max_by(|left, right| {
        let time = |it: &Process| it.useful_inside + it.serial_useful;
        time(left).total_cmp(&time(right))
    })?;
    let wall_of_main = Nanos(main.end - main.start).seconds();
    Some(Run {
        wall,
        threads,
        efficiency: root,
        serial: Serial {
            seconds: (wall_of_main - main.inside).max(0.0),
            useful: main.serial_useful,
            wall: wall_of_main,
            threads: main.threads,
            thread: main.initial,
        },
    })
}

/// The loss inside regions and its three parts. Imbalance and overhead may overlap (a thread with
/// less work may spend the difference in the runtime), so each takes at most what is left.
fn inside_regions(
    loss: f64,
    room: f64,
    processes: &[Process],
    regions: &[RegionRow],
) -> Efficiency {
    // Region rows keep no weights by process: the result is exact for one process only.
    let threads: usize = processes.iter().map(|it| it.threads).sum();
    let share = threads as f64 / processes.len().max(1) as f64 / room;
    let imbalance: f64 = regions
        .iter()
        .filter(|row| row.nesting == 1)
        .map(|row| match row.spread {
            Some(spread) => spread.longest - spread.mean,
            None => row.own.part(Cause::Imbalance),
        })
        .sum();
    let overhead: f64 = regions
        .iter()
        .map(|row| row.time(Metric::Overhead) + row.time(Metric::Reduction))
        .sum();
    let balance = (imbalance * share).clamp(0.0, loss.max(0.0));
    let overhead = (overhead / room).clamp(0.0, (loss - balance).max(0.0));
    let rest = loss - balance - overhead;
    Efficiency::node(
        "omp_region",
        "OpenMP region efficiency",
        vec![
            Efficiency::leaf("load_balance", "Load balance", balance),
            Efficiency::leaf("overhead", "Runtime overhead", overhead),
            Efficiency::leaf("scheduling", "Scheduling and waits", rest),
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
        // The first initial thread is that of the process; later ones are helper threads.
        if found.iter().all(|(process, _)| *process != thread.process) {
            let process = Process {
                initial: id,
                start: thread.birth.0,
                end: end_of(thread.death),
                threads: 0,
                inside: 0.0,
                useful_inside: 0.0,
                serial_useful: 0.0,
            };
            found.push((thread.process, process));
        }
    }
    for (id, process) in &mut found {
        let mut changes: Vec<(u64, i32)> = Vec::new();
        for thread in tables.threads.iter().filter(|it| it.process == *id) {
            let end = end_of(thread.death);
            process.start = process.start.min(thread.birth.0);
            process.end = process.end.max(end);
            if matches!(thread.kind, ThreadKind::Initial | ThreadKind::Worker) {
                changes.extend([(thread.birth.0, 1), (end, -1)]);
            }
        }
        // An end sorts before a begin at the same time.
        changes.sort_unstable();
        let mut alive = 0;
        for (_, change) in changes {
            alive += change;
            process.threads = process.threads.max(alive as usize);
        }
    }
    found
}

/// The processes with an initial thread, and their times.
fn processes(profile: &Profile, tables: &Tables, measured: &super::Measured<'_>) -> Vec<Process> {
    let mut found = openmp_processes(tables, measured.duration);
    // The initial thread is in a region from the region's begin to its end, so its time there is
    // the union of the outermost regions, those without an end included.
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
        let initial = process.initial == item.thread;
        let useful = matches!(item.state, RefinedState::Work | RefinedState::Serial)
            && item.scheduling == Scheduling::Running;
        if in_region(item.context) {
            process.inside += if initial { item.seconds } else { 0.0 };
            process.useful_inside += if useful { item.seconds } else { 0.0 };
        } else if initial && useful {
            process.serial_useful += item.seconds;
        }
    }
    found.into_iter().map(|(_, process)| process).collect()
}

#[cfg(test)]
mod tests;
