//! The ranks of a job, and their clocks.

use std::borrow::Cow;
use std::collections::BTreeMap;

use experiment::Experiment;
use experiment::header::{Header, Rank};
use experiment::ids::{Nanos, ThreadId};
use experiment::losses::LossKind;

use super::clocks::{Clocks, Difference};

/// How an experiment was recorded: what is needed to set it beside those of other ranks.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Recording {
    /// Its rank, if a launcher told.
    pub rank: Option<Rank>,
    /// The host.
    pub host: String,
    /// Equal for recordings whose clocks are one: [`Header::clock`].
    pub clock: String,
    /// CLOCK_MONOTONIC_RAW at its start, in nanoseconds: time zero of its rows.
    pub started_raw_ns: u64,
    /// Its wall time.
    pub duration: Nanos,
    /// From when on records of MPI may be missing; `None` if none was lost.
    pub lost_from: Option<Nanos>,
    /// Why it ends before the program was done, as the predicate of a sentence about the rank: `was killed by SIGKILL`.
    pub cut: Option<String>,
}

/// The records of MPI share their rings with these.
const SHARED: [LossKind; 4] = [
    LossKind::OmpConstructs,
    LossKind::OmpWaits,
    LossKind::ThreadsRefused,
    LossKind::ThreadsGivenUp,
];

impl Recording {
    /// That of an experiment.
    pub fn of(experiment: &Experiment) -> Recording {
        let header = &experiment.header;
        let lost = SHARED
            .iter()
            .filter_map(|kind| header.losses.lost.of(*kind));
        let lost_from = lost
            .flat_map(|stretches| stretches.iter().map(|it| it.from_ns))
            .min();
        Recording {
            rank: header.rank.clone(),
            host: header.host.clone(),
            clock: header.clock.clone(),
            started_raw_ns: header.started_raw_ns,
            duration: experiment.duration(),
            lost_from: lost_from.map(Nanos),
            cut: cut(header, experiment.finished),
        }
    }
}

/// Why a recording has no end.
fn cut(header: &Header, is_finished: bool) -> Option<String> {
    match (&header.killed_by, &header.stopped, &header.limit) {
        (Some(signal), _, _) => Some(format!("was killed by {signal}")),
        (None, Some(why), _) | (None, None, Some(why)) => {
            Some(format!("has a recording that ended early ({why})"))
        }
        (None, None, None) if !is_finished => Some("has a recording without an end".to_owned()),
        (None, None, None) => None,
    }
}

/// A rank of a job. The order is that of jobs, then of ranks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct RankId {
    /// The job, from 0 in the order of its first experiment.
    pub job: u32,
    /// The rank in `MPI_COMM_WORLD`.
    pub number: u32,
}

/// The ranks of several experiments.
#[derive(Clone, Debug)]
pub struct Ranks<'a> {
    recordings: &'a [Recording],
    origins: &'a [u32],
    /// The rank of each recording.
    ids: Vec<RankId>,
    by_id: BTreeMap<RankId, usize>,
    pub(super) clocks: Cow<'a, Clocks>,
    /// The number of ranks of each job, if known.
    sizes: Vec<Option<u32>>,
}

impl<'a> Ranks<'a> {
    /// Those of recordings. `origins` has the number of each thread's recording, from 1; a single recording may
    /// have any number.
    ///
    /// A second recording of the same rank is one of another run. Each recording without a rank is a job by itself.
    /// Clocks of several hosts are not compared.
    pub fn of(recordings: &'a [Recording], origins: &'a [u32]) -> Ranks<'a> {
        let clocks = Cow::Owned(Clocks::apart(recordings));
        Ranks::with_clocks(recordings, origins, clocks)
    }

    /// The same with clocks that are compared.
    pub fn with_clocks(
        recordings: &'a [Recording],
        origins: &'a [u32],
        clocks: Cow<'a, Clocks>,
    ) -> Ranks<'a> {
        let mut jobs = BTreeMap::<(&str, u32), u32>::new();
        let mut seen = BTreeMap::<(&str, u32), u32>::new();
        let mut ranks = Ranks {
            recordings,
            origins,
            ids: Vec::with_capacity(recordings.len()),
            by_id: BTreeMap::new(),
            clocks,
            sizes: Vec::new(),
        };
        for (at, recording) in recordings.iter().enumerate() {
            let id = match &recording.rank {
                Some(rank) => {
                    let run = seen.entry((&rank.job, rank.number)).or_default();
                    let job = *jobs.entry((&rank.job, *run)).or_insert_with(|| {
                        ranks.sizes.push(None);
                        ranks.sizes.len() as u32 - 1
                    });
                    *run += 1;
                    let size = &mut ranks.sizes[job as usize];
                    *size = size.or(rank.size);
                    let number = rank.number;
                    RankId { job, number }
                }
                None => {
                    ranks.sizes.push(None);
                    let job = ranks.sizes.len() as u32 - 1;
                    RankId { job, number: 0 }
                }
            };
            ranks.ids.push(id);
            ranks.by_id.insert(id, at);
        }
        ranks
    }

    /// The number of recordings.
    pub fn len(&self) -> usize {
        self.ids.len()
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.ids.is_empty()
    }

    /// The recording that a thread belongs to, from 0.
    fn index(&self, thread: ThreadId) -> usize {
        index(self.recordings, self.origins, thread)
    }

    /// The rank of a thread.
    pub fn of_thread(&self, thread: ThreadId) -> RankId {
        self.ids
            .get(self.index(thread))
            .copied()
            .unwrap_or_default()
    }

    /// The recording of a thread.
    pub fn recording_of(&self, thread: ThreadId) -> Option<&'a Recording> {
        recording_of(self.recordings, self.origins, thread)
    }

    /// The recording of a rank; `None` if it has none.
    pub fn recording(&self, id: RankId) -> Option<&'a Recording> {
        self.recordings.get(self.recording_number(id)?)
    }

    /// The number of a rank's recording, from 0; `None` if it has none.
    pub fn recording_number(&self, id: RankId) -> Option<usize> {
        self.by_id.get(&id).copied()
    }

    /// The time of a thread's row, in nanoseconds on the clock that its rank has in common with those that it can be
    /// [compared](Ranks::are_comparable) with.
    pub fn on_clock(&self, thread: ThreadId, time: Nanos) -> u64 {
        self.moment(self.index(thread), time)
    }

    fn moment(&self, recording: usize, time: Nanos) -> u64 {
        let started = self.recordings.get(recording);
        let own = started.map_or(0, |it| it.started_raw_ns);
        let own = own.saturating_add(time.0);
        self.clocks.on_first(recording, own).time
    }

    /// When a rank's recording began and ended, on the same clock.
    pub fn span(&self, id: RankId) -> Option<(u64, u64)> {
        let at = self.recording_number(id)?;
        let end = self.recordings.get(at)?.duration;
        Some((self.moment(at, Nanos(0)), self.moment(at, end)))
    }

    /// By how much times of two ranks may be further apart or nearer than it seems, at a moment of their common clock, in
    /// nanoseconds: 0 for ranks of one clock.
    pub fn clock_error(&self, one: RankId, other: RankId, moment: u64) -> u64 {
        let both = [one, other].map(|id| self.recording_number(id));
        let [Some(one), Some(other)] = both else {
            return 0;
        };
        if self.clocks.is_shared(one, other) {
            return 0;
        }
        let errors = [one, other].map(|at| self.clocks.error_near(at, moment));
        errors.iter().sum()
    }

    /// Whether all records of a thread's recording are there up to a moment of the ranks' common clock.
    pub fn knows_until(&self, thread: ThreadId, time: u64) -> bool {
        let lost_from = self.recording_of(thread).and_then(|it| it.lost_from);
        lost_from.is_none_or(|lost| time < self.on_clock(thread, lost))
    }

    /// Whether times of two ranks can be compared: they have one clock, or it is known how far theirs are apart.
    pub fn are_comparable(&self, one: RankId, other: RankId) -> bool {
        let both = [one, other].map(|id| self.recording_number(id));
        matches!(both, [Some(one), Some(other)] if self.clocks.are_comparable(one, other))
    }

    /// A rank of each clock, and how far that is apart from the clock of a rank before it; `None` if nothing tells how far
    /// it is apart from those of others of its job.
    pub fn clocks(&self) -> Vec<(RankId, Option<(RankId, Difference)>)> {
        let all = self.clocks.differences().map(|(recording, difference)| {
            let first = difference.map(|it| (self.ids[it.first], it));
            (self.ids[recording], first)
        });
        let is_alone = |rank: RankId| {
            let others = self.ids.iter().filter(|it| it.job == rank.job);
            others.into_iter().any(|it| !self.are_comparable(rank, *it))
        };
        all.filter(|(rank, first)| first.is_some() || is_alone(*rank))
            .collect()
    }

    /// Every rank that is known of, and its recording.
    pub fn all(&self) -> impl Iterator<Item = (RankId, Option<&'a Recording>)> + '_ {
        let mut all: Vec<RankId> = self.ids.clone();
        all.extend(self.missing());
        all.sort_unstable();
        all.into_iter().map(|id| (id, self.recording(id)))
    }

    /// The ranks of its jobs that have no recording, as far as the number of ranks is known.
    pub fn missing(&self) -> impl Iterator<Item = RankId> + '_ {
        let sizes = (0..).zip(&self.sizes);
        let all = sizes.flat_map(|(job, size)| {
            // A size that no machine has comes from a damaged header.
            let size = size.unwrap_or(0).min(MOST_RANKS);
            (0..size).map(move |number| RankId { job, number })
        });
        all.filter(|id| !self.by_id.contains_key(id))
    }

    /// The number of jobs.
    pub fn jobs(&self) -> usize {
        self.sizes.len()
    }

    /// `3`; of several jobs `3 of job 2`.
    pub fn number(&self, id: RankId) -> String {
        match self.jobs() {
            0 | 1 => id.number.to_string(),
            _ => format!("{} of job {}", id.number, id.job + 1),
        }
    }

    /// `rank 3`; of several jobs `rank 3 of job 2`.
    pub fn name(&self, id: RankId) -> String {
        format!("rank {}", self.number(id))
    }

    /// Whether any of its recordings has no rank although there are several.
    pub fn nameless(&self) -> usize {
        match self.recordings {
            [] | [_] => 0,
            several => several.iter().filter(|it| it.rank.is_none()).count(),
        }
    }
}

/// The recording of a thread. `origins` has the number of each thread's, from 1; a single one may have any.
pub fn recording_of<'a>(
    recordings: &'a [Recording],
    origins: &[u32],
    thread: ThreadId,
) -> Option<&'a Recording> {
    recordings.get(index(recordings, origins, thread))
}

fn index(recordings: &[Recording], origins: &[u32], thread: ThreadId) -> usize {
    match recordings.len() {
        1 => 0,
        _ => {
            let number = origins.get(thread.index()).copied().unwrap_or(1);
            number.saturating_sub(1) as usize
        }
    }
}

/// The most ranks of a job of which the missing ones are listed.
const MOST_RANKS: u32 = 1 << 20;

#[cfg(test)]
pub(crate) mod tests {
    use super::*;

    /// The recording of a rank of a job of `size` ranks, which started at `started`.
    pub(crate) fn recording(job: &str, number: u32, size: u32, started: u64) -> Recording {
        Recording {
            rank: Some(Rank {
                number,
                size: Some(size),
                job: job.to_owned(),
            }),
            host: "fir".to_owned(),
            clock: String::new(),
            started_raw_ns: started,
            duration: Nanos(1_000_000_000),
            lost_from: None,
            cut: None,
        }
    }

    fn id(job: u32, number: u32) -> RankId {
        RankId { job, number }
    }

    #[test]
    fn threads_have_the_ranks_of_their_experiments_and_ranks_without_one_are_missing() {
        let recordings = [recording("a", 2, 4, 100), recording("a", 0, 4, 70)];
        let ranks = Ranks::of(&recordings, &[1, 1, 2]);
        let of = |thread| ranks.of_thread(ThreadId(thread));
        assert_eq!([of(0), of(1), of(2)], [id(0, 2), id(0, 2), id(0, 0)]);
        assert_eq!(ranks.missing().collect::<Vec<_>>(), [id(0, 1), id(0, 3)]);
        let all: Vec<(u32, bool)> = ranks
            .all()
            .map(|(id, recording)| (id.number, recording.is_some()))
            .collect();
        assert_eq!(all, [(0, true), (1, false), (2, true), (3, false)]);
        assert_eq!(ranks.on_clock(ThreadId(0), Nanos(5)), 105);
        assert_eq!(ranks.on_clock(ThreadId(2), Nanos(5)), 75);
        assert_eq!(ranks.name(id(0, 3)), "rank 3");
    }

    #[test]
    fn a_second_recording_of_a_rank_is_one_of_another_run() {
        let recordings = [0, 1, 0, 1].map(|number| recording("", number, 2, 0));
        let ranks = Ranks::of(&recordings, &[1, 2, 3, 4]);
        let of: Vec<RankId> = (0..4).map(|it| ranks.of_thread(ThreadId(it))).collect();
        assert_eq!(of, [id(0, 0), id(0, 1), id(1, 0), id(1, 1)]);
        assert_eq!((ranks.jobs(), ranks.missing().count()), (2, 0));
        assert_eq!(ranks.name(id(1, 0)), "rank 0 of job 2");
    }

    #[test]
    fn one_experiment_is_rank_0_whatever_its_number_and_several_without_ranks_are_apart() {
        let recordings = [Recording::default()];
        let ranks = Ranks::of(&recordings, &[3, 3]);
        assert_eq!(ranks.of_thread(ThreadId(1)), id(0, 0));
        assert_eq!(ranks.nameless(), 0);
        let recordings = [Recording::default(), Recording::default()];
        let ranks = Ranks::of(&recordings, &[1, 2]);
        assert_eq!(ranks.of_thread(ThreadId(1)), id(1, 0));
        assert_eq!((ranks.nameless(), ranks.jobs()), (2, 2));
    }

    #[test]
    fn clocks_of_several_hosts_are_not_compared() {
        let mut recordings = [0, 1, 2].map(|number| recording("a", number, 4, 0));
        recordings[2].host = "elm".to_owned();
        let ranks = Ranks::of(&recordings, &[]);
        assert!(ranks.are_comparable(id(0, 0), id(0, 1)));
        assert!(!ranks.are_comparable(id(0, 0), id(0, 2)));
        assert!(
            !ranks.are_comparable(id(0, 3), id(0, 3)),
            "it is not recorded"
        );
    }
}
