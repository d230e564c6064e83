//! The words of filters, and the names of states.

use crate::states::RefinedState;

/// A word that has a number for each piece of time.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Word {
    /// Number of the thread, from 1, in the order of appearance over all experiments.
    Thread,
    /// The kernel's thread id.
    Lwp,
    /// The CPU; -1 off CPU and if no sample tells.
    Cpu,
    /// The kernel's process id.
    Process,
    /// Number of the experiment, from 1.
    Experiment,
    /// Number of the rank of MPI; -1 of a process that is none.
    Rank,
    /// Nanoseconds since the experiment began.
    Time,
    /// Number of the sample, from 1: a stretch of time that ends at a sample point.
    Sample,
    /// Number of the innermost phase's name; 0 outside phases.
    Phase,
    /// What the kernel did with the thread: [`MSTATES`].
    MState,
    /// What the thread did in OpenMP's terms: [`OMP_STATES`].
    OmpState,
    /// Number of the innermost parallel region's construct: its calling context, which all its
    /// instances share; 0 outside.
    Region,
    /// Number of the innermost explicit task's construct, 0 outside.
    Task,
    /// Number of the innermost region's instance in its process; 0 outside, -1 where no sample
    /// tells.
    RegionInstance,
    /// Number of the innermost explicit task's instance in its process, likewise.
    TaskInstance,
}

impl Word {
    /// Every word, in the order of `describe`.
    pub const ALL: [Word; 15] = [
        Word::Experiment,
        Word::Rank,
        Word::Process,
        Word::Thread,
        Word::Lwp,
        Word::Cpu,
        Word::Time,
        Word::Sample,
        Word::Phase,
        Word::MState,
        Word::OmpState,
        Word::RegionInstance,
        Word::TaskInstance,
        Word::Region,
        Word::Task,
    ];

    /// Its spelling.
    pub const fn name(self) -> &'static str {
        match self {
            Word::Thread => "THRID",
            Word::Lwp => "LWPID",
            Word::Cpu => "CPUID",
            Word::Process => "PID",
            Word::Experiment => "EXPID",
            Word::Rank => "RANK",
            Word::Time => "TSTAMP",
            Word::Sample => "SAMPLE",
            Word::Phase => "PHASE",
            Word::MState => "MSTATE",
            Word::OmpState => "OMPSTATE",
            Word::RegionInstance => "CPRID",
            Word::TaskInstance => "TSKID",
            Word::Region => "REGION",
            Word::Task => "TASK",
        }
    }

    /// Its description, in half a line.
    pub const fn help(self) -> &'static str {
        match self {
            Word::Thread => "number of the thread from 1, as thread_list shows it",
            Word::Lwp => "the kernel's thread id",
            Word::Cpu => "number of the CPU; -1 off the CPU, and where no sample tells",
            Word::Process => "the kernel's process id",
            Word::Experiment => "number of the experiment from 1",
            Word::Rank => "number of the rank of MPI; -1 of a process that is none",
            Word::Time => "nanoseconds since the recording began",
            Word::Sample => "number of the sample from 1, as sample_list shows it",
            Word::Phase => "innermost phase, as Phases numbers them; 0 outside",
            Word::MState => "where the kernel had the thread",
            Word::OmpState => "what the thread did in OpenMP's terms",
            Word::RegionInstance => {
                "instance of the innermost parallel region, from 1 in its process; 0 outside"
            }
            Word::TaskInstance => {
                "instance of the innermost explicit task, from 1 in its process; 0 outside"
            }
            Word::Region => {
                "construct of the innermost parallel region, as OMP_preg shows it; 0 outside"
            }
            Word::Task => "construct of the innermost task, as OMP_task shows it; 0 outside",
        }
    }

    /// Whether it may have several values within one item, which only the item's samples tell.
    pub const fn is_of_samples(self) -> bool {
        matches!(
            self,
            Word::Time
                | Word::Sample
                | Word::Phase
                | Word::Cpu
                | Word::RegionInstance
                | Word::TaskInstance
        )
    }

    /// The names of its numbers; empty without names.
    pub const fn names(self) -> &'static [(&'static str, i64)] {
        match self {
            Word::MState => &MSTATES,
            Word::OmpState => &OMP_STATES,
            _ => &[],
        }
    }
}

/// Names of `MSTATE`.
pub const MSTATES: [(&str, i64); 4] =
    [("USER", 0), ("SYSTEM", 1), ("PREEMPTED", 2), ("BLOCKED", 3)];

/// Names of `OMPSTATE`: words, then those of the metrics.
pub const OMP_STATES: [(&str, i64); RefinedState::ALL.len() + RefinedState::SHOWN.len()] = {
    let mut names = [("", 0); RefinedState::ALL.len() + RefinedState::SHOWN.len()];
    let mut at = 0;
    while at < RefinedState::ALL.len() {
        let state = RefinedState::ALL[at];
        names[at] = (state.row().word, state as i64);
        at += 1;
    }
    let mut at = 0;
    while at < RefinedState::SHOWN.len() {
        let state = RefinedState::SHOWN[at];
        if let Some(shown) = state.row().shown {
            names[RefinedState::ALL.len() + at] = (shown.word, state as i64);
        }
        at += 1;
    }
    names
};

/// The number of a name, of any word.
pub(super) fn named_number(name: &str) -> Option<i64> {
    let names = MSTATES.iter().chain(&OMP_STATES);
    let mut found = names.filter(|(known, _)| known.eq_ignore_ascii_case(name));
    found.next().map(|&(_, number)| number)
}
