//! What each sample shows, and the time that it stands for.
//!
//! The time of an item of the profile is divided evenly among its samples, so that the times of all samples
//! add up to the profile. Items are told apart by second. Of more than [`MOST_BY_SECOND`] samples this would
//! take too much memory: a sample then stands for the mean of its item over the whole recording. Time that
//! has no sample of its own, such as inferred time, is put where its state's longest interval is listed, or
//! else in the middle of its second or of its thread's life, as near as a filter on time allows.
//!
//! The events of a counter are divided among its samples in the same way.

use std::ops::Range;

use experiment::ids::{ContextId, Nanos, StackId, ThreadId, ThreadStateId};
use experiment::rows::{SLICE, Sample, SampleKind};
use experiment::state::Scheduling;
use omp_model::filter::SampleFilter;
use omp_model::metrics::{CounterName, Metric};
use omp_model::profile::{Item, PathId, Profile};
use report::timeline::Activity;
use rustc_hash::FxHashMap;

use crate::subject::Subject;

/// Of more samples, items are not told apart by second.
pub(crate) const MOST_BY_SECOND: u64 = 2_000_000;

/// What the samples of an item have in common.
type Own = (ThreadId, u32, ThreadStateId, Scheduling, StackId, bool);

/// The row of a place.
pub(crate) type PlaceNumber = u32;

/// Time of a thread at a stack, or events of a counter there: an item of the profile.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Place {
    pub(crate) thread: ThreadId,
    pub(crate) path: PathId,
    pub(crate) context: ContextId,
    pub(crate) activity: Activity,
    pub(crate) scheduling: Scheduling,
    /// On a CPU: whether in the kernel.
    pub(crate) kernel: bool,
    /// Whether its time is OMP Work.
    pub(crate) is_work: bool,
    pub(crate) inferred: bool,
    pub(crate) seconds: f64,
    pub(crate) blame: f64,
    pub(crate) events: f64,
    /// Its second, if places are told apart by second; else 0.
    pub(crate) slice: u32,
    thread_state: ThreadStateId,
}

/// The places of an experiment, and which samples show them.
pub(crate) struct Places<'a> {
    pub(crate) profile: &'a Profile,
    /// Whether they are told apart by second.
    pub(crate) by_second: bool,
    /// By place: the item of the profile. There may be as many as there are samples.
    items: Vec<u32>,
    own: FxHashMap<Own, PlaceNumber>,
    /// A filter that keeps a part of an item's samples, and the items as it sees them, by place.
    filter: Option<(SampleFilter<'a>, Vec<Item>)>,
}

impl<'a> Places<'a> {
    /// The places of time.
    pub(crate) fn new(subject: &'a Subject<'_>) -> Places<'a> {
        Places::of_items(subject, None)
    }

    /// The places of a counter's events.
    pub(crate) fn of_counter(subject: &'a Subject<'_>, counter: CounterName) -> Places<'a> {
        Places::of_items(subject, Some(counter))
    }

    fn of_items(subject: &'a Subject<'_>, counter: Option<CounterName>) -> Places<'a> {
        let analysis = subject.analysis();
        let settings = subject.source.settings;
        let by_second = analysis.experiment.samples.len() <= MOST_BY_SECOND;
        let profile = if by_second {
            subject.source.by_second()
        } else {
            subject.source.profile()
        };
        let divides = settings.filter.as_ref().filter(|it| it.divides());
        // Load objects are hidden after the filter: it is asked about the stacks before.
        let seen = divides.map(|filter| {
            let (mode, inline) = (settings.mode, settings.inline);
            let seen = if by_second {
                analysis.filtered_by_second(mode, inline, filter)
            } else {
                analysis.filtered(mode, inline, filter)
            };
            let facts = analysis.facts(&subject.names);
            (
                SampleFilter::new(filter, &seen.profile, &facts),
                seen.profile.items,
            )
        });
        let mut places = Places {
            profile,
            by_second,
            items: Vec::new(),
            own: FxHashMap::default(),
            filter: None,
        };
        let mut seen_items = Vec::new();
        for (item, at) in profile.items.iter().zip(0..) {
            if item.counter != counter || !item.is_some() {
                continue;
            }
            let number = places.items.len() as PlaceNumber;
            if !item.inferred || item.samples > 0 {
                places.own.entry(own_of_item(item)).or_insert(number);
            }
            places.items.push(at);
            seen_items.extend(seen.as_ref().map(|(_, items)| items[at as usize]));
        }
        places.filter = seen.map(|(filter, _)| (filter, seen_items));
        places
    }

    /// What a sample shows; `None` if it stands for no time that is kept.
    pub(crate) fn of(&self, sample: &Sample) -> Option<PlaceNumber> {
        let slice = self.slice(sample.time);
        let own = (
            sample.thread,
            slice,
            sample.thread_state,
            sample.kind.scheduling(),
            sample.stack,
            sample.kind == SampleKind::Kernel,
        );
        let number = *self.own.get(&own)?;
        match &self.filter {
            Some((filter, items)) => {
                let keeps = filter.keeps(&items[number as usize], sample);
                keeps.then_some(number)
            }
            None => Some(number),
        }
    }

    /// The slice of a time, as the keys of places have it.
    fn slice(&self, time: Nanos) -> u32 {
        if self.by_second {
            (time.0 / SLICE.0) as u32
        } else {
            0
        }
    }

    pub(crate) fn len(&self) -> usize {
        self.items.len()
    }

    pub(crate) fn get(&self, number: PlaceNumber) -> Place {
        let item = self.items[number as usize];
        place(self.profile, &self.profile.items[item as usize])
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = Place> {
        (0..self.len() as PlaceNumber).map(|number| self.get(number))
    }

    /// When the places without samples are shown; `counts` are the numbers of samples by place.
    pub(crate) fn alone(&self, subject: &Subject<'_>, counts: &[u32]) -> Vec<(PlaceNumber, u64)> {
        let experiment = &subject.analysis().experiment;
        let key = |place: &Place| {
            let slice = if self.by_second { place.slice } else { 0 };
            (place.thread, place.thread_state, place.scheduling, slice)
        };
        let alone = self.iter().zip(counts).zip(0..);
        let alone = alone.filter(|((_, count), _)| **count == 0);
        let alone: Vec<(Place, PlaceNumber)> = alone.map(|((row, _), at)| (row, at)).collect();
        let wanted = alone.iter().map(|(row, _)| (key(row), (0, None)));
        let mut longest: FxHashMap<_, (u64, Option<u64>)> = wanted.collect();
        for row in &experiment.intervals {
            let slice = self.slice(row.start);
            let key = (row.thread, row.thread_state, row.scheduling, slice);
            if let Some(known) = longest.get_mut(&key)
                && row.length.0 > known.0
                && !subject.leaves_out(&(row.start.0..row.start.0))
            {
                *known = (row.length.0, Some(row.start.0));
            }
        }
        let time = |(row, at): (Place, PlaceNumber)| {
            let listed = longest.get(&key(&row)).and_then(|known| known.1);
            (at, listed.unwrap_or_else(|| self.somewhere(subject, &row)))
        };
        alone.into_iter().map(time).collect()
    }

    /// The middle of a place's second or of its thread's life, or a time nearby that a filter keeps.
    fn somewhere(&self, subject: &Subject<'_>, row: &Place) -> u64 {
        const STEPS: u64 = 64;
        let Range { mut start, mut end } = subject.life(row.thread);
        if self.by_second {
            let second = u64::from(row.slice) * SLICE.0;
            start = start.max(second);
            end = end.min(second + SLICE.0);
        }
        let length = end.saturating_sub(start);
        let middle = start + length / 2;
        let nearby = (0..STEPS / 2).flat_map(|step| {
            let away = length / STEPS * step;
            [middle - away, middle + away]
        });
        let is_kept = |time: &u64| !subject.leaves_out(&(*time..*time));
        nearby.into_iter().find(is_kept).unwrap_or(middle)
    }
}

fn own_of_item(item: &Item) -> Own {
    (
        item.thread,
        item.slice,
        item.thread_state,
        item.scheduling,
        item.stack,
        item.kernel,
    )
}

fn place(profile: &Profile, item: &Item) -> Place {
    let leaf = profile.paths.get(item.path.0);
    let leaf = leaf.filter(|_| item.path != PathId::EMPTY);
    Place {
        thread: item.thread,
        path: item.path,
        context: item.context,
        activity: Activity::of_leaf(leaf.map(|row| row.frame.callee), item.state),
        scheduling: item.scheduling,
        kernel: item.kernel,
        is_work: Metric::OmpWork.counts(item),
        inferred: item.inferred,
        seconds: item.seconds,
        blame: item.blame,
        events: item.events,
        slice: item.slice,
        thread_state: item.thread_state,
    }
}
