//! What a thread is shown to do on a timeline: its recorded state, told in the words, letters and
//! families of colour of the legend.

use experiment::state::State;
use omp_model::metrics::Metric;
use omp_model::profile::Callee;
use omp_model::states::{Pseudo, RefinedState};

pub use omp_model::states::Family;

/// A state as a timeline shows it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Activity {
    /// A state that views show.
    State(RefinedState),
    /// A flush that spins: work by the standard, a wait for another thread by its looks.
    FlushSpin,
    /// A thread of OpenBLAS's own pool without work, or the one that waits for that pool.
    OpenBlasIdle,
    /// Records were lost here.
    Unknown,
}

impl Activity {
    /// The number of activities.
    pub const COUNT: usize = RefinedState::ALL.len() + 3;

    /// Every activity, in the order of the legend.
    pub const ALL: [Activity; Activity::COUNT] = {
        let mut all = [Activity::Unknown; Activity::COUNT];
        let mut at = 0;
        while at < RefinedState::ALL.len() {
            let activity = Activity::State(RefinedState::ALL[at]);
            all[activity.number()] = activity;
            at += 1;
        }
        all[Activity::FlushSpin.number()] = Activity::FlushSpin;
        all[Activity::OpenBlasIdle.number()] = Activity::OpenBlasIdle;
        all
    };

    /// Its place in the legend, from 0: what is no state stands behind what it resembles.
    pub const fn number(self) -> usize {
        const WORK: usize = RefinedState::Work as usize;
        const IDLE: usize = RefinedState::Idle as usize;
        match self {
            Activity::State(state) => {
                let number = state as usize;
                number + (number > WORK) as usize + (number > IDLE) as usize
            }
            Activity::FlushSpin => WORK + 1,
            Activity::OpenBlasIdle => IDLE + 2,
            Activity::Unknown => Activity::COUNT - 1,
        }
    }

    /// Of a recorded state.
    pub const fn of_state(state: State) -> Activity {
        match RefinedState::of(state) {
            Some(state) => Activity::State(state),
            None => Activity::Unknown,
        }
    }

    /// Of time at a display stack in user mode: its leaf may name what its state does not.
    pub const fn of_leaf(leaf: Option<Callee>, state: RefinedState) -> Activity {
        match leaf {
            Some(Callee::Pseudo(Pseudo::OpenBlasIdle)) => Activity::OpenBlasIdle,
            Some(Callee::Pseudo(Pseudo::FlushSpin)) => Activity::FlushSpin,
            _ => Activity::State(state),
        }
    }

    /// Of a pseudo-function, to give its rows the colour of their state.
    pub fn of_name(name: &str) -> Option<Activity> {
        let states =
            RefinedState::SHOWN.map(|state| (Pseudo::State(state), Activity::State(state)));
        let others = [
            (Pseudo::OpenBlasIdle, Activity::OpenBlasIdle),
            (Pseudo::FlushSpin, Activity::FlushSpin),
        ];
        let mut leaves = states.into_iter().chain(others);
        let found = leaves.find(|(leaf, _)| leaf.name() == name);
        found.map(|(_, activity)| activity)
    }

    /// Of a metric, where it is a state's.
    pub const fn of_metric(metric: Metric) -> Option<Activity> {
        match metric {
            Metric::OmpWork => Some(Activity::State(RefinedState::Work)),
            Metric::State(state) => Some(Activity::State(state)),
            _ => None,
        }
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
            Activity::State(state) => {
                let row = state.row();
                (row.letter, row.legend, row.family)
            }
            Activity::FlushSpin => ('f', "flush spin", Family::Work),
            Activity::OpenBlasIdle => (':', "OpenBLAS idle", Family::Idle),
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
            assert_eq!(activity.number(), number);
        }
    }
}
