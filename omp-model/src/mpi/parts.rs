//! What ranks did over given times, and where in the program.
//!
//! How long is measured. Where a thread computed, its samples tell: the time is divided in their proportion. Waits of
//! OpenMP stand at the region of the listed intervals, time in MPI at its calls.

use std::collections::BTreeMap;

use experiment::Experiment;
use experiment::ids::{ContextId, FrameId, Nanos, StackId, ThreadId, ThreadStateId};
use experiment::rows::{Sample, SampleKind};
use experiment::state::{Scheduling, State};
use rustc_hash::FxHashMap;

use super::calls::Call;
use super::chains::{Link, known_until};
use super::coverage::Coverage;
use super::functions::name;
use super::meanwhile::{Does, Meanwhile};
use super::ranks::{RankId, Ranks};
use crate::profile::{PathId, Profile};
use crate::views::names::Names;
use crate::views::openmp::innermost_regions;
use crate::views::openmp::locations::ConstructLocation;
use crate::views::openmp::own_code::OwnCode;

/// A rank's time at one thing in one place.
#[derive(Clone, Debug, PartialEq)]
pub struct Part {
    /// The rank.
    pub rank: RankId,
    /// What it did.
    pub does: Does,
    /// Where; `None` if that is not known.
    pub place: Option<Place>,
    /// How long, in seconds.
    pub seconds: f64,
    /// The samples that tell so; `None` if none were needed.
    pub samples: Option<u64>,
}

/// A place in the program.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Place {
    /// The function of MPI that is called there.
    pub mpi: Option<String>,
    /// The function, and the line with most of it; the region's directive; or the call of MPI.
    pub at: ConstructLocation,
}

/// What the ranks of a job are asked about.
#[derive(Clone, Copy)]
pub struct Job<'a> {
    /// The recordings of all ranks.
    pub experiment: &'a Experiment,
    /// The ranks.
    pub ranks: &'a Ranks<'a>,
    /// The unfiltered profile in user mode.
    pub profile: &'a Profile,
    /// The names.
    pub names: &'a Names<'a>,
}

/// Times of threads: what they did in them, in all.
#[derive(Debug, Default)]
pub(super) struct Times {
    /// Nanoseconds by rank.
    pub(super) totals: BTreeMap<(RankId, Does), u64>,
    /// The times: thread, begin and end on the ranks' common clock. They may overlap.
    pub(super) intervals: Vec<(ThreadId, u64, u64)>,
}

impl Times {
    /// Adds a time of a thread.
    pub(super) fn add(&mut self, rank: RankId, interval: (ThreadId, u64, u64), did: &Meanwhile) {
        for does in Does::ALL {
            let time = did.time(does);
            if time > 0 {
                *self.totals.entry((rank, does)).or_default() += time;
            }
        }
        self.intervals.push(interval);
    }

    /// Divides them by place.
    pub(super) fn parts(self, job: &Job<'_>, calls: &[Call], links: &[Link]) -> Vec<Part> {
        let covered = Coverage::of(&self.intervals);
        drop(self.intervals);
        let mut weights = Weights::default();
        weights.add_calls(job, &covered, calls, links);
        weights.add_regions(job, &covered, links);
        weights.add_samples(job, &covered);
        let mut parts = Vec::new();
        for ((rank, does), time) in self.totals {
            let seconds = Nanos(time).seconds();
            let places = weights.0.remove(&(rank, does)).unwrap_or_default();
            let all: f64 = places.iter().map(|it| it.weight).sum();
            let samples = (does == Does::Computes).then_some(0);
            if all <= 0.0 {
                parts.push(Part {
                    rank,
                    does,
                    place: None,
                    seconds,
                    samples,
                });
                continue;
            }
            parts.extend(places.into_iter().map(|it| Part {
                rank,
                does,
                place: it.place,
                seconds: seconds * it.weight / all,
                samples: samples.map(|_| it.samples),
            }));
        }
        parts.sort_by(|one, other| other.seconds.total_cmp(&one.seconds));
        parts
    }
}

/// The weight of a place among those of the same rank and doing.
struct Weighed {
    place: Option<Place>,
    weight: f64,
    samples: u64,
}

#[derive(Default)]
struct Weights(BTreeMap<(RankId, Does), Vec<Weighed>>);

impl Weights {
    fn push(&mut self, of: (RankId, Does), place: Place, weight: f64) {
        self.0.entry(of).or_default().push(Weighed {
            place: Some(place),
            weight,
            samples: 0,
        });
    }

    /// Calls of MPI, by the covered time that is in no wait of them whose cause is known.
    fn add_calls(&mut self, job: &Job<'_>, covered: &Coverage, calls: &[Call], links: &[Link]) {
        let mut sums = FxHashMap::<(RankId, Does, u16, FrameId), f64>::default();
        for call in calls {
            let from = known_until(links, call.thread, call.start);
            let time = covered.over(call.thread, from, call.end);
            if time > 0.0 {
                let does = match ::mpi::wait(call.function) {
                    ::mpi::Wait::Nothing => Does::Mpi,
                    _ => Does::Waits,
                };
                let rank = job.ranks.of_thread(call.thread);
                let key = (rank, does, call.function, call.site);
                *sums.entry(key).or_default() += time;
            }
        }
        let mut places = BTreeMap::<(RankId, Does, Place), f64>::new();
        for ((rank, does, function, site), time) in sums {
            let place = Place {
                mpi: Some(name(function)),
                at: ConstructLocation::of_innermost(job.names, site),
            };
            *places.entry((rank, does, place)).or_default() += time;
        }
        for ((rank, does, place), time) in places {
            self.push((rank, does), place, time);
        }
    }

    /// Regions, by the covered time of the listed waits in them, likewise.
    fn add_regions(&mut self, job: &Job<'_>, covered: &Coverage, links: &[Link]) {
        let tables = &job.experiment.tables;
        let regions = innermost_regions(tables);
        let mut sums = BTreeMap::<(RankId, ContextId), f64>::new();
        for interval in &job.experiment.intervals {
            let state = tables.thread_states.get(interval.thread_state.0);
            let Some(state) = state.filter(|it| it.state.is_wait() && !it.state.is_mpi()) else {
                continue;
            };
            let start = job.ranks.on_clock(interval.thread, interval.start);
            let end = start.saturating_add(interval.length.0);
            let from = known_until(links, interval.thread, start);
            let time = covered.over(interval.thread, from, end);
            if time > 0.0 {
                let region = regions.get(state.context.index()).copied();
                let key = (
                    job.ranks.of_thread(interval.thread),
                    region.unwrap_or(ContextId::ROOT),
                );
                *sums.entry(key).or_default() += time;
            }
        }
        for ((rank, region), time) in sums {
            let at = ConstructLocation::of_site(job.names, region);
            self.push((rank, Does::Omp), Place { mpi: None, at }, time);
        }
    }

    /// Functions, by the samples on a CPU outside of MPI and of waits, each as often as its time is covered.
    fn add_samples(&mut self, job: &Job<'_>, covered: &Coverage) {
        let by_rank = samples(job, covered);
        let own = OwnCode::of(job.profile, job.names);
        for (rank, found) in by_rank {
            let times: Vec<(PathId, f64)> = found.iter().map(|it| (it.0, it.1 as f64)).collect();
            let functions = own.by_function(&times).into_iter();
            let weighed = functions.map(|(at, among)| Weighed {
                place: at.map(|at| Place { mpi: None, at }),
                weight: among.iter().map(|&it| times[it].1).sum(),
                samples: among.iter().map(|&it| found[it].2).sum(),
            });
            self.0.insert((rank, Does::Computes), weighed.collect());
        }
    }
}

/// What the samples of an item of the profile have in common.
type Own = (ThreadId, ThreadStateId, StackId, bool);

/// The stacks of samples in the covered times: how often they are covered, and how many they are.
fn samples(job: &Job<'_>, covered: &Coverage) -> BTreeMap<RankId, Vec<(PathId, u64, u64)>> {
    let tables = &job.experiment.tables;
    let computes = |sample: &Sample| {
        let state = tables.thread_states.get(sample.thread_state.0);
        let state = state.map_or(State::Unknown, |it| it.state);
        sample.kind.scheduling() == Scheduling::Running && !state.is_wait() && !state.is_mpi()
    };
    let covering = |samples: &[Sample]| {
        let mut sums = FxHashMap::<Own, (u64, u64)>::default();
        for sample in samples.iter().filter(|it| computes(it)) {
            let time = job.ranks.on_clock(sample.thread, sample.time);
            let weight = covered.at(sample.thread, time);
            if weight > 0 {
                let is_kernel = sample.kind == SampleKind::Kernel;
                let own = (sample.thread, sample.thread_state, sample.stack, is_kernel);
                let sum = sums.entry(own).or_default();
                *sum = (sum.0 + weight, sum.1 + 1);
            }
        }
        sums
    };
    let mut all = FxHashMap::<Own, (u64, u64)>::default();
    job.experiment.samples.in_order(covering, |_, of_frame| {
        for (own, it) in of_frame {
            let sum = all.entry(own).or_default();
            *sum = (sum.0 + it.0, sum.1 + it.1);
        }
    });
    let items = job.profile.items.iter();
    let items = items.filter(|it| it.counter.is_none() && it.is_on_cpu() && it.samples > 0);
    let paths: FxHashMap<Own, PathId> = items
        .map(|it| ((it.thread, it.thread_state, it.stack, it.kernel), it.path))
        .collect();
    let mut by_rank = BTreeMap::<(RankId, PathId), (u64, u64)>::new();
    for (own, it) in all {
        let path = paths.get(&own).copied().unwrap_or(PathId::EMPTY);
        let sum = by_rank
            .entry((job.ranks.of_thread(own.0), path))
            .or_default();
        *sum = (sum.0 + it.0, sum.1 + it.1);
    }
    let mut found = BTreeMap::<RankId, Vec<(PathId, u64, u64)>>::new();
    for ((rank, path), (weight, samples)) in by_rank {
        found.entry(rank).or_default().push((path, weight, samples));
    }
    found
}
