//! Time by CPU, filtered or not.

use experiment::rows::Sample;
use experiment::state::Scheduling;
use rustc_hash::FxHashMap;

use super::cpus::{AnySample, Cpus, OfThreads, Own, cpu_of, own_of_item, own_of_sample};
use super::expression::Filter;
use super::time_point::{TimePoint, second};
use super::weigh::{Source, Weigher};
use crate::profile::{Item, Profile};

/// The CPU that an item's time was spent on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ItemCpu {
    /// On a CPU, by the kernel's number.
    Cpu(u16),
    /// On an unknown CPU: no sample tells which.
    Unknown,
    /// Switched out.
    Off,
}

impl ItemCpu {
    fn of(cpu: i64) -> ItemCpu {
        u16::try_from(cpu).map_or(ItemCpu::Unknown, ItemCpu::Cpu)
    }
}

/// The CPUs of each item of a profile that `filter`, if any, has kept, each with its part of the
/// item's time. The parts of an item add up to 1.
pub fn on_cpus(
    profile: &Profile,
    filter: Option<(&Filter, &Source<'_>)>,
    samples: impl IntoIterator<Item = AnySample>,
) -> Vec<Vec<(ItemCpu, f64)>> {
    // Only such a filter keeps a part of an item's samples.
    let filter = filter.filter(|(filter, _)| filter.divides());
    let weigher = filter.map(|(filter, source)| Weigher::new(filter, profile, source));
    let keeps = |item: &Item, sample: &Sample| {
        let weigher = weigher.as_ref();
        weigher.is_none_or(|it| it.keeps(item, TimePoint::of_sample(sample)) == Some(true))
    };
    let running = |item: &&Item| item.scheduling == Scheduling::Running;
    let items = profile.items.iter().enumerate();
    let items: FxHashMap<Own, usize> = items
        .filter(|(_, item)| running(item))
        .filter_map(|(at, item)| Some((own_of_item(item)?, at)))
        .collect();
    let seconds = profile.items.iter().filter(running);
    let mut threads = OfThreads::new(seconds.map(|item| (item.thread, item.slice)));
    let mut own = FxHashMap::<usize, Cpus>::default();
    for sample in samples {
        threads.count(&sample);
        let Some(&at) = items.get(&own_of_sample(&sample)) else {
            continue;
        };
        if keeps(&profile.items[at], &sample.1) {
            own.entry(at).or_default().count(cpu_of(&sample.1));
        }
    }
    let cpus = |(at, item): (usize, &Item)| {
        if item.scheduling != Scheduling::Running {
            return vec![(ItemCpu::Off, 1.0)];
        }
        if let Some(cpus) = own.get(&at) {
            let parts = cpus.parts();
            return parts.map(|(cpu, part)| (ItemCpu::of(cpu), part)).collect();
        }
        let parts = threads.parts(item).into_iter();
        let parts: Vec<(i64, f64)> = parts
            .map(|(cpu, part)| match &weigher {
                Some(weigher) => {
                    let somewhere = TimePoint::somewhere(cpu);
                    (cpu, part * weigher.spread(item, second(item), somewhere))
                }
                None => (cpu, part),
            })
            .collect();
        let all: f64 = parts.iter().map(|(_, part)| part).sum();
        if all <= 0.0 {
            return vec![(ItemCpu::Unknown, 1.0)];
        }
        let parts = parts.into_iter().filter(|(_, part)| *part > 0.0);
        parts
            .map(|(cpu, part)| (ItemCpu::of(cpu), part / all))
            .collect()
    };
    profile.items.iter().enumerate().map(cpus).collect()
}
