//! What a thread is shown to do on a timeline: its recorded state, told in the words, letters and
//! families of colour of the legend.

use experiment::state::State;
use omp_model::metrics::Metric;
use omp_model::profile::{Callee, Pseudo, RefinedState};
use omp_model::views::names::pseudo;

/// A state as a timeline shows it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[repr(u8)]
pub enum Activity {
    /// The initial thread outside regions, or a thread without OpenMP.
    Serial,
    /// User code of a region or task.
    Work,
    /// A flush that spins: work by the standard, a wait for another thread by its looks.
    FlushSpin,
    /// In the runtime, not waiting.
    Overhead,
    /// Combining a reduction.
    Reduction,
    /// Waiting in an implicit barrier.
    ImplicitBarrier,
    /// Waiting in an explicit barrier.
    ExplicitBarrier,
    /// A worker between regions.
    Idle,
    /// A thread of OpenBLAS's own pool without work, or the one that waits for that pool.
    OpenBlasIdle,
    /// Waiting for a lock.
    Lock,
    /// Waiting to enter a critical section.
    Critical,
    /// Waiting for an ordered section's turn.
    Ordered,
    /// Waiting in an atomic.
    Atomic,
    /// Waiting for tasks.
    Task,
    /// Records were lost here.
    Unknown,
}

/// What a colour stands for; a letter tells the activities of a family apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Family {
    /// Serial code.
    Serial,
    /// Parallel work.
    Work,
    /// The runtime at work: overhead, reductions.
    Runtime,
    /// Barriers.
    Barrier,
    /// Mutual exclusion: locks, critical and ordered sections, atomics.
    Exclusion,
    /// Waiting for tasks.
    Task,
    /// No work to do.
    Idle,
    /// Nothing is known.
    Unknown,
}

impl Family {
    /// Its colour in a picture or on a page, as `#rrggbb`: Okabe and Ito's (Color Universal Design, 2008),
    /// made for all kinds of colour vision.
    pub const fn colour(self) -> &'static str {
        match self {
            Family::Serial => "#56b4e9",
            Family::Work => "#009e73",
            Family::Runtime => "#cc79a7",
            Family::Barrier => "#d55e00",
            Family::Exclusion => "#f0e442",
            Family::Task => "#0072b2",
            Family::Idle => "#999999",
            Family::Unknown => "#dddddd",
        }
    }
}

impl Activity {
    /// The number of activities.
    pub const COUNT: usize = 15;

    /// Every activity, in the order of the legend.
    pub const ALL: [Activity; Activity::COUNT] = [
        Activity::Serial,
        Activity::Work,
        Activity::FlushSpin,
        Activity::Overhead,
        Activity::Reduction,
        Activity::ImplicitBarrier,
        Activity::ExplicitBarrier,
        Activity::Idle,
        Activity::OpenBlasIdle,
        Activity::Lock,
        Activity::Critical,
        Activity::Ordered,
        Activity::Atomic,
        Activity::Task,
        Activity::Unknown,
    ];

    /// Of a recorded state.
    pub const fn of_state(state: State) -> Activity {
        match state {
            State::Outside | State::Serial => Activity::Serial,
            State::Work => Activity::Work,
            State::Overhead => Activity::Overhead,
            State::Reduction => Activity::Reduction,
            State::ImplicitBarrier
            | State::ImplementationBarrier
            | State::TeamsBarrier
            | State::Barrier => Activity::ImplicitBarrier,
            State::ExplicitBarrier => Activity::ExplicitBarrier,
            State::Idle => Activity::Idle,
            State::Lock | State::NestLock => Activity::Lock,
            State::Critical => Activity::Critical,
            State::Ordered => Activity::Ordered,
            State::Atomic => Activity::Atomic,
            State::TaskWait | State::TaskGroup => Activity::Task,
            State::Unknown => Activity::Unknown,
        }
    }

    /// Of a state that a sample's stack has refined.
    pub const fn of_refined(state: RefinedState) -> Activity {
        match state {
            RefinedState::Serial => Activity::Serial,
            RefinedState::Work => Activity::Work,
            RefinedState::Overhead => Activity::Overhead,
            RefinedState::Reduction => Activity::Reduction,
            RefinedState::ImplicitBarrier => Activity::ImplicitBarrier,
            RefinedState::ExplicitBarrier => Activity::ExplicitBarrier,
            RefinedState::Idle => Activity::Idle,
            RefinedState::Lock => Activity::Lock,
            RefinedState::Critical => Activity::Critical,
            RefinedState::Ordered => Activity::Ordered,
            RefinedState::Atomic => Activity::Atomic,
            RefinedState::Task => Activity::Task,
        }
    }

    /// Of time at a display stack in user mode: its leaf may name what its state does not.
    pub const fn of_leaf(leaf: Option<Callee>, state: RefinedState) -> Activity {
        match leaf {
            Some(Callee::Pseudo(Pseudo::OpenBlasIdle)) => Activity::OpenBlasIdle,
            Some(Callee::Pseudo(Pseudo::FlushSpin)) => Activity::FlushSpin,
            _ => Activity::of_refined(state),
        }
    }

    /// Of a pseudo-function, to give its rows the colour of their state.
    pub fn of_name(name: &str) -> Option<Activity> {
        let leaves = [
            (Pseudo::Overhead, Activity::Overhead),
            (Pseudo::Reduction, Activity::Reduction),
            (Pseudo::ImplicitBarrier, Activity::ImplicitBarrier),
            (Pseudo::ExplicitBarrier, Activity::ExplicitBarrier),
            (Pseudo::Idle, Activity::Idle),
            (Pseudo::Lock, Activity::Lock),
            (Pseudo::Critical, Activity::Critical),
            (Pseudo::Ordered, Activity::Ordered),
            (Pseudo::Atomic, Activity::Atomic),
            (Pseudo::Task, Activity::Task),
            (Pseudo::OpenBlasIdle, Activity::OpenBlasIdle),
            (Pseudo::FlushSpin, Activity::FlushSpin),
        ];
        let found = leaves.iter().find(|(leaf, _)| pseudo(*leaf) == name);
        found.map(|&(_, activity)| activity)
    }

    /// Of a metric, where it is a state's.
    pub const fn of_metric(metric: Metric) -> Option<Activity> {
        Some(match metric {
            Metric::OmpWork => Activity::Work,
            Metric::Overhead => Activity::Overhead,
            Metric::Reduction => Activity::Reduction,
            Metric::ImplicitBarrier => Activity::ImplicitBarrier,
            Metric::ExplicitBarrier => Activity::ExplicitBarrier,
            Metric::Idle => Activity::Idle,
            Metric::Lock => Activity::Lock,
            Metric::Critical => Activity::Critical,
            Metric::Ordered => Activity::Ordered,
            Metric::Atomic => Activity::Atomic,
            Metric::Task => Activity::Task,
            _ => return None,
        })
    }

    /// Its letter on a timeline.
    pub const fn letter(self) -> char {
        self.legend().0
    }

    /// Its words in the legend.
    pub const fn words(self) -> &'static str {
        self.legend().1
    }

    /// Its colour's family.
    pub const fn family(self) -> Family {
        self.legend().2
    }

    const fn legend(self) -> (char, &'static str, Family) {
        match self {
            Activity::Serial => ('=', "serial", Family::Serial),
            Activity::Work => ('#', "work", Family::Work),
            Activity::FlushSpin => ('f', "flush spin", Family::Work),
            Activity::Overhead => ('v', "overhead", Family::Runtime),
            Activity::Reduction => ('r', "reduction", Family::Runtime),
            Activity::ImplicitBarrier => ('b', "implicit barrier", Family::Barrier),
            Activity::ExplicitBarrier => ('e', "explicit barrier", Family::Barrier),
            Activity::Idle => ('.', "idle", Family::Idle),
            Activity::OpenBlasIdle => (':', "OpenBLAS idle", Family::Idle),
            Activity::Lock => ('l', "lock", Family::Exclusion),
            Activity::Critical => ('c', "critical", Family::Exclusion),
            Activity::Ordered => ('o', "ordered", Family::Exclusion),
            Activity::Atomic => ('a', "atomic", Family::Exclusion),
            Activity::Task => ('t', "task wait", Family::Task),
            Activity::Unknown => ('?', "unknown", Family::Unknown),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn letters_and_numbers_are_distinct() {
        let mut letters: Vec<char> = Activity::ALL.map(Activity::letter).to_vec();
        letters.sort_unstable();
        letters.dedup();
        assert_eq!(letters.len(), Activity::COUNT);
        for (number, activity) in Activity::ALL.iter().enumerate() {
            assert_eq!(*activity as usize, number);
        }
    }
}
