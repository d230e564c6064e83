//! Samples of events that are no clock.

use experiment::header::{Counter, MOST_COUNTERS};
use experiment::ids::ThreadId;
use experiment::rows::Sample;
use rustc_hash::FxHashMap;

use crate::event::Event;

/// A sample that was made by a counter, and the events that it stands for.
pub(crate) struct Weighed {
    pub(crate) sample: Sample,
    pub(crate) events: u64,
}

/// The samples of an event that is no clock.
pub(crate) struct OfCounter {
    /// The number of the event.
    pub(crate) event: usize,
    /// The name of its metric.
    pub(crate) name: String,
    pub(crate) samples: Vec<Weighed>,
}

/// The events that are counted, with names that differ.
pub(super) fn counters_of(events: &[Event], clock: Option<usize>) -> Vec<OfCounter> {
    let mut counters: Vec<OfCounter> = Vec::new();
    for (number, event) in events.iter().enumerate() {
        if Some(number) == clock || event.is_dummy() || counters.len() == MOST_COUNTERS {
            continue;
        }
        let mut name = event.metric_name(number);
        if counters.iter().any(|it| it.name == name) {
            name = format!("{name}-{number}");
        }
        counters.push(OfCounter {
            event: number,
            name,
            samples: Vec::new(),
        });
    }
    counters
}

/// Samples are divided into so many where it is only read, and into so many in all at most.
const FINER: usize = 64;
const MOST_FINER: usize = 1 << 16;

/// The samples of an event so that each stands for as many events: one of a long period is repeated, one of a short
/// period left out, and what that adds or drops is made up for at the thread's next one.
pub(crate) fn evened(event: &Event, counter: &OfCounter) -> (Counter, Vec<Sample>) {
    let weighed = &counter.samples;
    let events: u128 = weighed.iter().map(|it| u128::from(it.events)).sum();
    let wanted = if event.is_sampled() {
        weighed.len()
    } else {
        // Few samples of an event that is only read may stand for most of it.
        weighed.len().max((FINER * weighed.len()).min(MOST_FINER))
    };
    let mean = match wanted {
        0 => u128::from(event.period().unwrap_or(1)),
        count => (events / count as u128).max(1),
    };
    let mut owed = FxHashMap::<ThreadId, i128>::default();
    let mut samples = Vec::with_capacity(weighed.len());
    for it in weighed {
        let owed = owed.entry(it.sample.thread).or_default();
        *owed += i128::from(it.events);
        // As many as there are samples on average.
        let most = 2 * wanted - samples.len().min(2 * wanted);
        let times = (2 * *owed + mean as i128).div_euclid(2 * mean as i128);
        let times = times.clamp(0, most as i128);
        *owed -= times * mean as i128;
        samples.extend(std::iter::repeat_n(it.sample, times as usize));
    }
    let row = Counter {
        name: counter.name.clone(),
        interval: mean as u64,
        events: u64::try_from(events).unwrap_or(u64::MAX),
        counted: 1.0,
        samples: samples.len() as u64,
        ..Counter::default()
    };
    (row, samples)
}
