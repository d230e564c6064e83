//! The part of each item that a filter keeps.
//!
//! An item is the time of one thread, in one second, in one state, at one stack. If the filter's
//! value does not depend on time, CPU and instances, it decides the whole item, exactly. Otherwise
//! these rules apply, in this order:
//!
//! 1. A second that lies wholly on one side of every number in the filter is decided as a whole,
//!    exactly: a filter by whole seconds never estimates. So is time in a construct for which the
//!    filter has the same value in every instance (`CPRID>0`).
//! 2. Time off CPU, whose `CPUID` is -1: the listed intervals of that state have instances and are
//!    cut where the filter's value changes, exactly. Time too short to be listed follows rule 3
//!    or 4.
//! 3. The share of the item's own samples that the filter keeps is the share kept of the item.
//! 4. An item without samples of its own is spread evenly over its second, on the CPUs that
//!    [`cpus`] gives, in unknown instances: their number is -1.
//!
//! Rules 3 and 4 estimate; [`Filtered::estimated`] is the time that they kept.

use experiment::ids::{ContextId, PhaseId};
use experiment::rows::Interval;
use experiment::state::Scheduling;
use experiment::tables::{ContextKind, Interner, Tables};
use rustc_hash::FxHashMap;

use super::cpus::{self, AnySample, OfThreads, Own, own_of_item, own_of_sample};
use super::eval::{KnownValues, value};
use super::expression::Filter;
use super::listed::Listed;
use super::parse::{Binary, Expr, Parsed, Unary};
use super::time_point::{TimePoint, second, typical};
use super::words::Word;
use crate::mpi::ranks::{Recording, recording_of};
use crate::profile::{Item, Path, PathId, Profile};
use crate::time_marks::TimeMarks;
use crate::views::names::Names;

/// The data behind a profile that filters need.
#[derive(Clone, Copy, Debug)]
pub struct Source<'a> {
    /// Names of stacks.
    pub names: &'a Names<'a>,
    /// Listed intervals.
    pub intervals: &'a [Interval],
    /// The number of the experiment of each thread, from 1; empty if all are in the first.
    pub experiments: &'a [u32],
    /// How each experiment was recorded.
    pub recordings: &'a [Recording],
    /// Phases and sample points.
    pub marks: &'a TimeMarks,
}

/// A filtered profile.
#[derive(Clone, Debug)]
pub struct Filtered {
    /// The part that was kept.
    pub profile: Profile,
    /// Seconds that were kept by estimation.
    pub estimated: f64,
}

/// Keeps the part of a profile that a filter is true for. `samples` are the experiment's.
pub fn apply(
    filter: &Filter,
    profile: &Profile,
    source: &Source<'_>,
    samples: impl IntoIterator<Item = AnySample>,
) -> Filtered {
    let weigher = Weigher::new(filter, profile, source);
    let mut weights: Vec<Option<f64>> = profile
        .items
        .iter()
        .map(|item| weigher.whole(item))
        .collect();
    let mut estimated = vec![false; weights.len()];
    if weights.contains(&None) {
        let votes = Votes::count(&weigher, profile, &weights, samples);
        let listed = Listed::new(source.intervals, profile);
        for (at, item) in profile.items.iter().enumerate() {
            if weights[at].is_none() {
                let (weight, exact) = weigher.divide(item, &votes, at, &listed);
                weights[at] = Some(weight);
                estimated[at] = !exact;
            }
        }
    }
    let mut kept = Filtered {
        profile: Profile {
            mode: profile.mode,
            paths: profile.paths.clone(),
            items: Vec::new(),
        },
        estimated: 0.0,
    };
    for ((item, weight), estimated) in profile.items.iter().zip(weights).zip(estimated) {
        let weight = weight.unwrap_or(0.0);
        if weight <= 0.0 {
            continue;
        }
        let seconds = item.seconds * weight;
        kept.profile.items.push(Item {
            seconds,
            blame: item.blame * weight,
            events: item.events * weight,
            samples: (f64::from(item.samples) * weight).round() as u32,
            ..*item
        });
        if estimated {
            kept.estimated += seconds;
        }
    }
    prune(&mut kept.profile);
    kept
}

/// Keeps only the paths that items refer to, and their callers.
fn prune(profile: &mut Profile) {
    let rows = profile.paths.rows();
    let mut used = vec![false; rows.len()];
    for item in &profile.items {
        used[item.path.0 as usize] = true;
    }
    // A path's callers precede it.
    for at in (1..rows.len()).rev() {
        if used[at] {
            used[rows[at].callers.0 as usize] = true;
        }
    }
    let Some(&root) = rows.first() else {
        return;
    };
    let mut paths = Interner::with([root]);
    let mut moved = vec![PathId::EMPTY; rows.len()];
    for (at, path) in rows.iter().enumerate().skip(1).filter(|(at, _)| used[*at]) {
        let callers = moved[path.callers.0 as usize];
        moved[at] = PathId(paths.intern(Path { callers, ..*path }));
    }
    for item in &mut profile.items {
        item.path = moved[item.path.0 as usize];
    }
    profile.paths = paths;
}

/// The innermost region and task of each context.
fn constructs(tables: &Tables) -> Vec<(i64, i64)> {
    let mut found: Vec<(i64, i64)> = Vec::with_capacity(tables.contexts.len());
    for (id, context) in tables.contexts.rows().iter().enumerate() {
        let (region, task) = match id {
            0 => (0, 0),
            _ => found
                .get(context.parent.index())
                .copied()
                .unwrap_or_default(),
        };
        found.push(match context.kind {
            ContextKind::Root => (0, 0),
            ContextKind::Region | ContextKind::Teams => (id as i64, task),
            ContextKind::Task | ContextKind::Taskloop => (region, id as i64),
        });
    }
    found
}

pub(super) struct Weigher<'a> {
    parsed: &'a Parsed,
    tables: &'a Tables,
    experiments: &'a [u32],
    recordings: &'a [Recording],
    answers: Vec<Vec<bool>>,
    constructs: Vec<(i64, i64)>,
    /// Representative numbers of instances, of regions and of tasks.
    typical: (Vec<i64>, Vec<i64>),
    /// By test, and [`PhaseId`].
    in_phase: Vec<Vec<bool>>,
    marks: &'a TimeMarks,
    /// The times at which the filter's value may change, ascending, in nanoseconds.
    moments: Vec<i64>,
    /// Whether the filter does more than compare words with numbers.
    computes: bool,
}

/// An item at a point in time.
struct At<'a> {
    weigher: &'a Weigher<'a>,
    item: &'a Item,
    point: TimePoint,
}

impl KnownValues for At<'_> {
    fn word(&self, word: Word) -> Option<i64> {
        let Weigher {
            tables,
            experiments,
            recordings,
            constructs,
            ..
        } = self.weigher;
        let item = self.item;
        let thread = tables.threads.get(item.thread.index());
        let construct =
            |context: ContextId| constructs.get(context.index()).copied().unwrap_or_default();
        let TimePoint {
            time,
            cpu,
            region,
            task,
        } = self.point;
        Some(match word {
            Word::Thread => i64::from(item.thread.0) + 1,
            Word::Lwp => thread.map_or(0, |thread| i64::from(thread.tid)),
            Word::Process => thread
                .and_then(|thread| tables.processes.get(thread.process.index()))
                .map_or(0, |process| i64::from(process.pid)),
            Word::Experiment => experiments
                .get(item.thread.index())
                .map_or(1, |&experiment| i64::from(experiment)),
            Word::Rank => recording_of(recordings, experiments, item.thread)
                .and_then(|it| it.rank.as_ref())
                .map_or(-1, |rank| i64::from(rank.number)),
            Word::Sample => {
                let experiment = experiments.get(item.thread.index()).copied().unwrap_or(1);
                match time {
                    Some(time) => self.weigher.marks.sample_at(experiment, time),
                    None if self.weigher.marks.has_points(experiment) => return None,
                    None => 1,
                }
            }
            Word::Phase => {
                let phase = tables.phases.get(self.phase_id()?.0);
                phase.map_or(0, |phase| i64::from(phase.name.0))
            }
            Word::MState => match (item.scheduling, item.kernel) {
                (Scheduling::Running, false) => 0,
                (Scheduling::Running, true) => 1,
                (Scheduling::Preempted | Scheduling::Stolen, _) => 2,
                (Scheduling::Blocked, _) => 3,
            },
            Word::OmpState => item.state as i64,
            Word::Region => construct(item.context).0,
            Word::Task => construct(item.context).1,
            Word::RegionInstance if construct(item.context).0 == 0 => 0,
            Word::TaskInstance if construct(item.context).1 == 0 => 0,
            Word::RegionInstance => return region,
            Word::TaskInstance => return task,
            Word::Time => return time,
            Word::Cpu => return cpu,
        })
    }

    fn path(&self, test: usize) -> Option<bool> {
        Some(self.weigher.answers[test][self.item.path.0 as usize])
    }

    fn phase(&self, test: usize) -> Option<bool> {
        let phase = self.phase_id()?;
        self.weigher.in_phase[test].get(phase.index()).copied()
    }
}

impl At<'_> {
    /// The innermost phase; `None` if it depends on the time.
    fn phase_id(&self) -> Option<PhaseId> {
        let Weigher { tables, marks, .. } = self.weigher;
        let thread = tables.threads.get(self.item.thread.index())?;
        match self.point.time {
            Some(time) => Some(marks.phase_at(thread.process, time)),
            None if marks.has_phases(thread.process) => None,
            None => Some(PhaseId::NONE),
        }
    }
}

impl<'a> Weigher<'a> {
    pub(super) fn new(filter: &'a Filter, profile: &Profile, source: &Source<'a>) -> Self {
        let parsed = &filter.parsed;
        let answers = parsed
            .paths
            .iter()
            .map(|test| test.answers(profile, source.names));
        let in_phase = parsed.phases.iter();
        let in_phase = in_phase.map(|test| test.phase_answers(source.names.tables));
        let mut moments = parsed.numbers.clone();
        if parsed.words.contains(&Word::Phase) {
            moments.extend(source.marks.phase_times());
        }
        if parsed.words.contains(&Word::Sample) {
            moments.extend(source.marks.point_times());
        }
        moments.sort_unstable();
        moments.dedup();
        Weigher {
            parsed,
            in_phase: in_phase.collect(),
            marks: source.marks,
            moments,
            tables: source.names.tables,
            experiments: source.experiments,
            recordings: source.recordings,
            answers: answers.collect(),
            constructs: constructs(source.names.tables),
            typical: (
                typical(parsed, Word::RegionInstance),
                typical(parsed, Word::TaskInstance),
            ),
            computes: computes(&parsed.root),
        }
    }

    /// The expression's value at a point in time; `None` if it depends on unknown values.
    pub(super) fn number(&self, item: &Item, point: TimePoint) -> Option<i64> {
        let at = At {
            weigher: self,
            item,
            point,
        };
        value(&self.parsed.root, &at)
    }

    pub(super) fn keeps(&self, item: &Item, point: TimePoint) -> Option<bool> {
        self.number(item, point).map(|value| value != 0)
    }

    /// The weight of an item that is kept or dropped as a whole; `None` for others.
    fn whole(&self, item: &Item) -> Option<f64> {
        let weight = |keeps: bool| if keeps { 1.0 } else { 0.0 };
        let mut point = TimePoint::of_item(item);
        if let Some(keeps) = self.keeps(item, point) {
            return Some(weight(keeps));
        }
        // With arithmetic, the numbers do not bound where the filter's result changes.
        if self.computes {
            return None;
        }
        let (start, end) = second(item);
        if self.moments_within(start, end).is_empty() {
            point = point.at(start + (end - start) / 2);
        }
        self.whichever(item, point).map(weight)
    }

    /// The times between two at which the filter's value may change.
    fn moments_within(&self, start: i64, end: i64) -> &[i64] {
        let first = self.moments.partition_point(|&at| at <= start);
        let last = self.moments.partition_point(|&at| at < end);
        self.moments.get(first..last).unwrap_or_default()
    }

    /// Whether an item is kept at a point in time, if that is the same in every instance.
    fn whichever(&self, item: &Item, point: TimePoint) -> Option<bool> {
        let (regions, tasks) = &self.typical;
        let both = |&region: &i64| tasks.iter().map(move |&task| (region, task));
        let mut kept = regions.iter().flat_map(both).map(|(region, task)| {
            let point = TimePoint {
                region: Some(region),
                task: Some(task),
                ..point
            };
            self.keeps(item, point)
        });
        let first = kept.next()??;
        kept.all(|keeps| keeps == Some(first)).then_some(first)
    }

    /// The weight of a divided item, and whether it is exact.
    fn divide(&self, item: &Item, votes: &Votes, at: usize, listed: &Listed<'_>) -> (f64, bool) {
        let own = votes.of(at);
        let voted = match own.all {
            0 => self.part(item, &votes.parts(item)),
            all => f64::from(own.kept) / f64::from(all),
        };
        if item.scheduling == Scheduling::Running || item.seconds <= 0.0 {
            return (voted, false);
        }
        let (mut known, mut kept) = (0.0, 0.0);
        for ((start, end), interval) in listed.within(item) {
            let length = (end - start) as f64 / 1e9;
            known += length;
            kept += length * self.spread(item, (start, end), TimePoint::of_interval(interval));
        }
        if known <= 0.0 {
            return (voted, false);
        }
        let whole = listed.seconds_of_state(item);
        let rest = (whole - known).max(0.0);
        // Intervals are listed to the microsecond.
        let exact = rest <= 1e-3 * whole;
        (
            ((kept + rest * voted) / (known + rest)).clamp(0.0, 1.0),
            exact,
        )
    }

    /// The part that is kept of an item that fills its second evenly, on the given CPUs.
    fn part(&self, item: &Item, cpus: &[(i64, f64)]) -> f64 {
        let parts = cpus.iter();
        parts
            .map(|&(cpu, part)| part * self.spread(item, second(item), TimePoint::somewhere(cpu)))
            .sum()
    }

    /// The part that is kept of an item that fills an interval evenly, with these values
    /// throughout.
    pub(super) fn spread(&self, item: &Item, (start, end): (i64, i64), point: TimePoint) -> f64 {
        let mut cuts = self.moments_within(start, end).to_vec();
        if self.computes {
            const PARTS: i64 = 256;
            cuts.extend((1..PARTS).map(|part| start + (end - start) / PARTS * part));
            cuts.sort_unstable();
        }
        cuts.push(end);
        let (mut from, mut kept) = (start, 0.0);
        for to in cuts {
            if self.keeps(item, point.at(from + (to - from) / 2)) == Some(true) {
                kept += (to - from) as f64;
            }
            from = to;
        }
        kept / (end - start).max(1) as f64
    }
}

/// Whether an expression can change its value at numbers other than those in its text.
pub(super) fn computes(node: &Expr) -> bool {
    match node {
        Expr::Number(_) | Expr::Word(_) | Expr::Path(_) | Expr::Phase(_) => false,
        Expr::Among(inner, _) => !matches!(**inner, Expr::Word(_)),
        Expr::Unary(operator, inner) => *operator != Unary::Not || computes(inner),
        Expr::Binary(Binary::Or | Binary::And, left, right) => computes(left) || computes(right),
        Expr::Binary(operator, left, right) => {
            let compares = matches!(
                operator,
                Binary::Equal
                    | Binary::Unequal
                    | Binary::Less
                    | Binary::AtMost
                    | Binary::More
                    | Binary::AtLeast
            );
            let plain =
                |node: &Expr| matches!(node, Expr::Number(_) | Expr::Word(_) | Expr::Path(_));
            let with_number =
                matches!(**left, Expr::Number(_)) || matches!(**right, Expr::Number(_));
            !(compares && plain(left) && plain(right) && with_number)
        }
    }
}

/// The votes of an item's samples.
#[derive(Clone, Copy, Debug, Default)]
struct Vote {
    kept: u32,
    all: u32,
}

/// The votes of samples on divided items, by item number.
struct Votes {
    own: FxHashMap<usize, Vote>,
    threads: OfThreads,
}

impl Votes {
    fn count(
        weigher: &Weigher<'_>,
        profile: &Profile,
        weights: &[Option<f64>],
        samples: impl IntoIterator<Item = AnySample>,
    ) -> Votes {
        let divided = profile.items.iter().zip(weights).enumerate();
        let divided = divided.filter(|(_, (_, weight))| weight.is_none());
        let mut items = FxHashMap::<Own, usize>::default();
        let mut seconds = Vec::new();
        for (at, (item, _)) in divided {
            if let Some(own) = own_of_item(item) {
                items.insert(own, at);
            }
            if item.scheduling == Scheduling::Running {
                seconds.push((item.thread, item.slice));
            }
        }
        let mut votes = Votes {
            own: FxHashMap::default(),
            threads: OfThreads::new(seconds.into_iter()),
        };
        for sample in samples {
            votes.threads.count(&sample);
            let Some(&at) = items.get(&own_of_sample(&sample)) else {
                continue;
            };
            let keeps = weigher.keeps(&profile.items[at], TimePoint::of_sample(&sample.1));
            let vote = votes.own.entry(at).or_default();
            vote.all += 1;
            vote.kept += u32::from(keeps == Some(true));
        }
        votes
    }

    fn of(&self, item: usize) -> Vote {
        self.own.get(&item).copied().unwrap_or_default()
    }

    /// The CPUs of an item without samples of its own.
    fn parts(&self, item: &Item) -> Vec<(i64, f64)> {
        match item.scheduling {
            Scheduling::Running => self.threads.parts(item),
            _ => vec![(cpus::NOWHERE, 1.0)],
        }
    }
}
