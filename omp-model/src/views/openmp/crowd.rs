//! Threads that were ready to run without a CPU, and who had the CPUs meanwhile.

use std::collections::{BTreeMap, BTreeSet};

use experiment::Packed;
use experiment::ids::ThreadId;
use experiment::rows::{CpuUse, SLICE};
use experiment::state::Scheduling;
use experiment::tables::Tables;

use super::Measured;
use super::efficiency::rest;

/// Seconds of thread time that OpenMP's threads were ready to run, by who had the CPUs.
///
/// Within each second, ready time is charged to the others as far as the recorded threads left CPUs
/// unused; the rest is charged to those threads, in proportion to their waits and work on CPUs. Idle
/// threads and waits that sleep use no CPU, so however many there are, they are charged nothing.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Crowd {
    /// Seconds of all OpenMP threads.
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

/// The number of CPUs that a program's threads can have had, of the `given` ones: for each thread, the one
/// on which it was switched most, and those on which it was switched more than a few times. A program may
/// bind its threads, or be bound by what starts it. All CPUs, if nothing is known.
pub fn cpus_had(uses: &Packed<CpuUse>, given: u32) -> u32 {
    /// Where a thread is before it is bound, it is switched no more often than that.
    const FEW: u64 = 3;
    let mut most = BTreeMap::<ThreadId, (u64, u16)>::new();
    let mut had = BTreeSet::<u16>::new();
    for it in uses.iter() {
        let switches = it.voluntary + it.involuntary;
        if switches > FEW {
            had.insert(it.cpu);
        }
        if switches > 0 {
            let most = most.entry(it.thread).or_default();
            *most = (*most).max((switches, it.cpu));
        }
    }
    had.extend(most.values().map(|&(_, cpu)| cpu));
    match had.len() {
        0 => given,
        had => given.min(had as u32),
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
        for sum in measured.sums.iter() {
            let seconds = sum.time.seconds();
            let thread = tables.threads.get(sum.thread.index());
            let in_team = thread.is_some_and(|thread| thread.kind.is_in_teams());
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
            let unused = (f64::from(measured.cpus) * length - running).max(0.0);
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
    pub(super) fn hint(&self) -> &'static str {
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
