//! Limits to the accuracy of a view that its footer must state: losses and inferred time above one
//! percent.

use std::fmt;

use experiment::Packed;
use experiment::header::{Counter, Header};
use experiment::losses::LossKind;
use experiment::rows::Blame;

use crate::metrics::{CounterName, Metric};
use crate::profile::Profile;

/// The share above which a loss gets a line under every view.
pub const WORTH_TELLING: f64 = 0.01;

/// A limit to the accuracy of a view.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Notice {
    /// Time whose stack is inferred, because no sample shows it.
    Inferred {
        /// Inferred time.
        seconds: f64,
        /// All thread time.
        total: f64,
    },
    /// Samples of the clock that the kernel dropped.
    SamplesLost {
        /// Number dropped.
        lost: u64,
        /// Number kept.
        taken: u64,
    },
    /// Samples at context switches that the kernel dropped.
    SwitchStacksLost {
        /// Number dropped.
        lost: u64,
        /// Number kept.
        taken: u64,
    },
    /// OpenMP records that did not fit into the program's ring buffers.
    OmpRecordsLost {
        /// Number dropped.
        lost: u64,
        /// Number kept.
        taken: u64,
    },
    /// Records of regions and tasks were dropped by full rings, so there were more instances.
    InstancesLost {
        /// Number of records.
        lost: u64,
    },
    /// Truncated stacks: they do not reach their thread's first function.
    StacksCut {
        /// Number truncated.
        cut: u64,
        /// Number of all stacks.
        stacks: u64,
    },
    /// Waits for mutexes that are charged to no holder ([`crate::attribution`]).
    Ownerless {
        /// Seconds of such waits.
        seconds: f64,
        /// Seconds of all waits for mutexes.
        total: f64,
    },
    /// An event that took turns with others, so that its counts are scaled.
    CounterScaled {
        /// Its name.
        counter: CounterName,
        /// For which part of the time it was counted.
        counted: f64,
    },
    /// Samples of a counter that the kernel dropped, for which others count.
    CounterDropped {
        /// Its name.
        counter: CounterName,
        /// Number dropped.
        lost: u64,
        /// Number of all.
        samples: u64,
    },
    /// An event that never came often enough for a sample.
    CounterUnsampled {
        /// Its name.
        counter: CounterName,
        /// How often it came.
        events: u64,
    },
}

/// The notices for a view of these metrics on the counters among them.
pub fn of_counters(header: &Header, metrics: &[Metric]) -> Vec<Notice> {
    let known = |metric: &Metric| match *metric {
        Metric::Counter(name) => {
            let mut counters = header.counters.iter();
            Some((name, counters.find(|it| it.name == name.as_str())?))
        }
        _ => None,
    };
    let notices = |(counter, it): (CounterName, &Counter)| {
        let counted = it.counted;
        let (lost, samples, events) = (it.lost.count(), it.samples, it.events);
        let all = [
            Notice::CounterScaled { counter, counted },
            Notice::CounterDropped {
                counter,
                lost,
                samples,
            },
            Notice::CounterUnsampled {
                counter,
                events: if samples == 0 { events } else { 0 },
            },
        ];
        all.into_iter().filter(|it| it.share() > WORTH_TELLING)
    };
    metrics.iter().filter_map(known).flat_map(notices).collect()
}

/// The notices for a view with `inferred` of `total` seconds inferred ([`inferred_seconds`]).
pub fn notices(header: &Header, (inferred, total): (f64, f64)) -> Vec<Notice> {
    let losses = &header.losses;
    let lost = |kind| losses.lost.count(kind);
    let cut = losses.stacks_cut.iter().map(|(_, count)| count).sum();
    let candidates = [
        Notice::Inferred {
            seconds: inferred,
            total,
        },
        Notice::SamplesLost {
            lost: lost(LossKind::Samples),
            taken: header.sampling.samples,
        },
        Notice::SwitchStacksLost {
            lost: lost(LossKind::SwitchStacks),
            taken: header.sampling.switch_samples,
        },
        Notice::OmpRecordsLost {
            lost: losses.lost.omp_records(),
            taken: losses.omp_taken,
        },
        Notice::InstancesLost {
            lost: lost(LossKind::OmpConstructs),
        },
        Notice::StacksCut {
            cut,
            stacks: losses.stacks_complete + cut,
        },
    ];
    candidates
        .into_iter()
        .filter(|notice| notice.share() > WORTH_TELLING)
        .collect()
}

/// The notice on blame in a whole experiment: waits without a known cause, if their share is above
/// [`WORTH_TELLING`].
pub fn ownerless(profile: &Profile, blames: &Packed<Blame>) -> Option<Notice> {
    let waits = profile
        .items
        .iter()
        .filter(|item| item.state.is_exclusion());
    let total: f64 = waits.map(|item| item.seconds).sum();
    let blamed: f64 = blames.iter().map(|blame| blame.time.seconds()).sum();
    let notice = Notice::Ownerless {
        seconds: (total - blamed).max(0.0),
        total,
    };
    (notice.share() > WORTH_TELLING).then_some(notice)
}

/// Seconds whose stack was inferred, and all seconds.
pub fn inferred_seconds(profile: &Profile) -> (f64, f64) {
    profile
        .items
        .iter()
        .fold((0.0, 0.0), |(inferred, total), item| {
            let more = if item.inferred { item.seconds } else { 0.0 };
            (inferred + more, total + item.seconds)
        })
}

impl Notice {
    /// The affected share, 0 to 1.
    pub fn share(&self) -> f64 {
        let (part, whole) = match *self {
            Notice::Inferred { seconds, total } | Notice::Ownerless { seconds, total } => {
                (seconds, total)
            }
            Notice::SamplesLost { lost, taken }
            | Notice::SwitchStacksLost { lost, taken }
            | Notice::OmpRecordsLost { lost, taken } => (lost as f64, (lost + taken) as f64),
            // However few: a count that is too low is wrong.
            Notice::InstancesLost { lost } => (lost as f64, lost as f64),
            Notice::StacksCut { cut, stacks } => (cut as f64, stacks as f64),
            Notice::CounterScaled { counted, .. } => (1.0 - counted, 1.0),
            Notice::CounterDropped { lost, samples, .. } => (lost as f64, samples as f64),
            Notice::CounterUnsampled { events, .. } => (events as f64, events as f64),
        };
        if whole > 0.0 { part / whole } else { 0.0 }
    }
}

impl fmt::Display for Notice {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let percent = 100.0 * self.share();
        match self {
            Notice::Inferred { seconds, .. } => write!(
                f,
                "{percent:.1} % of the time ({seconds:.3} s) has no sample of its own: how long it \
                 was is measured, where it stands is inferred"
            ),
            Notice::SamplesLost { lost, .. } => write!(
                f,
                "{percent:.1} % of the samples ({lost}) were lost: times are measured, but where \
                 they stand is less certain; sample less often (collect -p on)"
            ),
            Notice::SwitchStacksLost { lost, .. } => write!(
                f,
                "{percent:.1} % of the stacks at context switches ({lost}) were lost: how long threads \
                 were off their CPUs is measured, where they waited is less certain"
            ),
            Notice::OmpRecordsLost { lost, .. } => write!(
                f,
                "{percent:.1} % of the OpenMP records ({lost}) were lost: states are uncertain \
                 where that happened"
            ),
            Notice::InstancesLost { lost } => write!(
                f,
                "counts of instances are lower bounds: {lost} records of regions and tasks were lost"
            ),
            Notice::StacksCut { cut, .. } => write!(
                f,
                "{percent:.1} % of the stacks ({cut}) are incomplete: header says why"
            ),
            Notice::Ownerless { seconds, .. } => write!(
                f,
                "{percent:.1} % of the waiting for locks and the like ({seconds:.3} s) has no \
                 holder that is known: whatever ran meanwhile is blamed for it"
            ),
            Notice::CounterScaled { counter, counted } => write!(
                f,
                "{} was counted for {:.1} % of the time, in turns with other events, and is scaled to \
                 all of it",
                counter.as_str(),
                100.0 * counted
            ),
            Notice::CounterDropped { counter, .. } => write!(
                f,
                "{percent:.1} % of the samples of {0} were dropped, and those beside them on the CPU count \
                 for them: choose a longer interval (collect -h {0},lo)",
                counter.as_str()
            ),
            Notice::CounterUnsampled { counter, events } => write!(
                f,
                "{0} has too few events for a sample ({events}), and none is shown: choose a shorter \
                 interval (collect -h {0},hi)",
                counter.as_str()
            ),
        }
    }
}

#[cfg(test)]
mod tests {
    use experiment::losses::Stretch;

    use super::*;
    use crate::states::RefinedState;
    use crate::views::test_profile::TestProfile;

    #[test]
    fn a_view_of_a_counter_tells_of_its_scaling_and_its_losses() {
        let counter = |name: &str, events, counted, samples, lost| Counter {
            name: name.to_owned(),
            interval: 100,
            events,
            counted,
            samples,
            lost: vec![Stretch {
                count: lost,
                ..Stretch::default()
            }]
            .into(),
        };
        let header = Header {
            counters: vec![
                counter("cycles", 4_000, 0.25, 40, 0),
                counter("page-faults", 4_000, 1.0, 40, 30),
                counter("cpu-migrations", 7, 1.0, 0, 0),
                counter("branches", 4_000, 0.995, 1000, 1),
            ],
            ..Header::default()
        };
        let of = |name| Metric::Counter(CounterName::new(name));
        let said = |name| {
            let notices = of_counters(&header, &[Metric::Total, of(name)]);
            let said: Vec<String> = notices.iter().map(ToString::to_string).collect();
            said.join("; ")
        };
        assert!(said("cycles").starts_with("cycles was counted for 25.0 % of the time"));
        assert!(said("page-faults").starts_with("75.0 % of the samples of page-faults"));
        assert!(said("cpu-migrations").starts_with("cpu-migrations has too few events"));
        assert_eq!(
            (said("branches"), said("cs")),
            (String::new(), String::new())
        );
    }

    #[test]
    fn notices_speak_above_one_percent() {
        let mut test = TestProfile::new();
        test.add(&["main"], RefinedState::Serial, 97.0);
        test.add(&["main"], RefinedState::Serial, 3.0).inferred = true;
        let mut header = Header::default();
        header.sampling.samples = 1_000;
        header.sampling.switch_samples = 80;
        header.losses.omp_taken = 50;
        let lost = &mut header.losses.lost;
        lost.add(LossKind::Samples, (0, 1), 5);
        lost.add(LossKind::SwitchStacks, (0, 1), 20);
        lost.add(LossKind::OmpConstructs, (0, 1), 10);
        lost.add(LossKind::OmpWaits, (0, 1), 40);
        let found = notices(&header, inferred_seconds(&test.profile));
        let expected = [
            Notice::Inferred {
                seconds: 3.0,
                total: 100.0,
            },
            Notice::SwitchStacksLost {
                lost: 20,
                taken: 80,
            },
            Notice::OmpRecordsLost {
                lost: 50,
                taken: 50,
            },
            Notice::InstancesLost { lost: 10 },
        ];
        assert_eq!(found, expected);
        assert!(
            found[1]
                .to_string()
                .starts_with("20.0 % of the stacks at context switches (20)")
        );
        assert!(
            found[2]
                .to_string()
                .starts_with("50.0 % of the OpenMP records (50) were lost")
        );
    }
}
