//! Threads that were ready to run without a CPU, and who had the CPUs meanwhile.

use std::collections::{BTreeMap, BTreeSet};

use experiment::Experiment;
use experiment::rows::SLICE;
use experiment::state::Scheduling;
use experiment::tables::Tables;

use super::Measured;
use super::efficiency::rest;

/// Seconds of thread time that OpenMP's threads, or all of a program without OpenMP, were ready to run,
/// by who had the CPUs.
///
/// Within each second, ready time is charged to the others as far as the recorded threads left CPUs
/// unused; the rest is charged to those threads, in proportion to their waits and work on CPUs. Idle
/// threads and waits that sleep use no CPU, so however many there are, they are charged nothing.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Crowd {
    /// Seconds of all these threads.
    pub all: f64,
    /// Of these, ready without a CPU: the sum of the parts below.
    pub ready: f64,
    /// A hypervisor had the CPU: measured.
    pub stolen: f64,
    /// Programs that were not recorded had it, or a limit of the container kept it from the threads.
    pub others: f64,
    /// Threads of this program that spun in waits had it.
    pub spinning: f64,
    /// Threads of this program with work had it.
    pub working: f64,
    /// Threads of this program that are in no team, and were not made by OpenMP, had it.
    pub outside: f64,
}

/// The share of thread time spent ready without a CPU from which the machine is too crowded for
/// reliable measurements.
const CROWDED: f64 = 0.1;

/// The numbers of CPUs that threads can have had.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Cpus {
    /// All threads together.
    pub all: u32,
    /// Those of one process, of which one had most. The ranks of MPI have CPUs each.
    pub each: u32,
}

impl Cpus {
    /// The CPUs that a run's threads could have: those of each process, of each machine. All that were given,
    /// if nothing is known.
    pub fn had(experiment: &Experiment) -> Cpus {
        let header = &experiment.header;
        let mut all = BTreeSet::<(u32, u32)>::new();
        let mut each = 0;
        // Others, such as a script around the program, share no work.
        let threads = experiment.tables.threads.iter();
        let in_teams = threads.filter(|thread| thread.kind.is_in_teams());
        let processes: BTreeSet<usize> = in_teams.map(|it| it.process.index()).collect();
        let mut is_known = !processes.is_empty();
        for at in processes {
            let cpus = header.process_cpus.get(at).map_or(&[][..], Vec::as_slice);
            let machine = experiment.machines.get(at).copied().unwrap_or(0);
            all.extend(cpus.iter().map(|cpu| (machine, *cpu)));
            each = each.max(cpus.len() as u32);
            is_known &= !cpus.is_empty();
        }
        if !is_known {
            return Cpus {
                all: header.cpus,
                each: header.cpus,
            };
        }
        Cpus {
            all: all.len() as u32,
            each,
        }
    }
}

impl Crowd {
    /// Of a recording.
    pub fn of(tables: &Tables, measured: &Measured<'_>) -> Crowd {
        #[derive(Default)]
        struct Slice {
            preempted: f64,
            spinning: f64,
            working: f64,
            outside: f64,
        }
        let mut crowd = Crowd::default();
        let mut slices = BTreeMap::<u32, Slice>::new();
        // Without OpenMP all threads count.
        let has_teams = tables.threads.iter().any(|it| it.kind.is_in_teams());
        for sum in measured.sums.iter() {
            let seconds = sum.time.seconds();
            let thread = tables.threads.get(sum.thread.index());
            let in_team = thread.is_some_and(|thread| thread.kind.is_in_teams() || !has_teams);
            let state = tables.thread_states.get(sum.thread_state.0);
            let waits = state.is_some_and(|it| it.state.is_wait());
            let slice = slices.entry(sum.slice).or_default();
            crowd.all += if in_team { seconds } else { 0.0 };
            match sum.scheduling {
                Scheduling::Running if waits => slice.spinning += seconds,
                Scheduling::Running if in_team => slice.working += seconds,
                Scheduling::Running => slice.outside += seconds,
                Scheduling::Preempted if in_team => slice.preempted += seconds,
                Scheduling::Stolen if in_team => crowd.stolen += seconds,
                _ => {}
            }
        }
        for (at, slice) in slices {
            let left = measured.duration.0.saturating_sub(u64::from(at) * SLICE.0);
            let length = left.min(SLICE.0) as f64 / 1e9;
            let running = slice.spinning + slice.working + slice.outside;
            let unused = (f64::from(measured.cpus.all) * length - running).max(0.0);
            let others = if running > 0.0 {
                slice.preempted.min(unused)
            } else {
                slice.preempted
            };
            crowd.others += others;
            let own = rest(slice.preempted - others);
            if own > 0.0 {
                crowd.spinning += own * slice.spinning / running;
                crowd.working += own * slice.working / running;
                crowd.outside += own * slice.outside / running;
            }
        }
        crowd.ready = crowd.stolen + crowd.others + crowd.spinning + crowd.working + crowd.outside;
        crowd
    }

    /// Whether it makes the run's times unreliable.
    pub fn is_large(&self) -> bool {
        self.all > 0.0 && self.ready >= CROWDED * self.all
    }

    /// The sentence for a run with so much of it that all its times are unreliable.
    pub(super) fn words(&self) -> Option<String> {
        let Crowd { all, ready, .. } = self;
        self.is_large().then(|| {
            format!(
                "The machine was crowded: threads were ready to run for {ready:.3} s of {all:.3} s \
                 ({:.1} %) without a CPU; {}; {}: every time below has this in it",
                100.0 * ready / all,
                self.who(),
                self.hint()
            )
        })
    }

    /// Who had the CPUs, for a tenth of the time or more.
    fn who(&self) -> String {
        let parts = [
            (
                self.others,
                "other programs (or none, by a limit of the container)",
            ),
            (self.working, "this program's own threads at work"),
            (
                self.outside,
                "this program's threads that OpenMP did not make",
            ),
            (self.spinning, "its threads that spun in waits"),
            (self.stolen, "other machines of the hypervisor"),
        ];
        let told = parts.iter().filter(|(part, _)| *part >= 0.1 * self.ready);
        let told: Vec<String> = told
            .map(|(part, who)| format!("{who} for about {part:.3} s"))
            .collect();
        format!("meanwhile the CPUs ran {}", told.join(", "))
    }

    /// What to try, against whoever had most.
    pub fn hint(&self) -> &'static str {
        let most = [
            self.others,
            self.working,
            self.outside,
            self.spinning,
            self.stolen,
        ];
        let most = most.into_iter().fold(0.0, f64::max);
        if most <= self.others.max(self.stolen) {
            "measure on a machine that is idle, or with fewer threads"
        } else if most <= self.spinning {
            "use no more threads than CPUs (OMP_NUM_THREADS), or let waits sleep if they are long \
             (OMP_WAIT_POLICY=passive)"
        } else {
            "use no more threads than CPUs (OMP_NUM_THREADS), and bind them (OMP_PROC_BIND=true)"
        }
    }
}
