//! Time by index object: by CPU, second or process.
//!
//! All time of every thread is in exactly one row, so the rows of each kind add up to the total for
//! each metric.

use std::collections::BTreeMap;

use experiment::tables::Tables;

use super::Seconds;
use crate::filter::{ItemCpu, Parts};
use crate::metrics::Metric;
use crate::mpi::ranks::{Recording, recording_of};
use crate::profile::{Item, Profile};

/// The key of an index object.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Key {
    /// A CPU, by the kernel's number.
    Cpu(u16),
    /// On an unknown CPU: no sample tells which.
    UnknownCpu,
    /// Switched out.
    OffCpu,
    /// A second since the experiment began, from 0.
    Second(u32),
    /// A sample, from 1: a stretch of time that ends at a sample point.
    Sample(u32),
    /// A process, by the kernel's number.
    Process(i32),
    /// An experiment, from 1.
    Experiment(u32),
    /// A rank of MPI; `None` for processes that are none.
    Rank(Option<u32>),
    /// A host, by its place among the names of all, from 1.
    Host(u32),
    /// A value of the expression that defines the type of index object.
    Value(i64),
}

impl Key {
    /// The name of the row.
    pub fn name(self) -> String {
        match self {
            Key::Cpu(cpu) => format!("CPU {cpu}"),
            Key::UnknownCpu => "<Unknown CPU>".to_owned(),
            Key::OffCpu => "<Off CPU>".to_owned(),
            Key::Second(second) => format!("Second {second}"),
            Key::Sample(number) => format!("Sample {number}"),
            Key::Process(pid) => format!("Process {pid}"),
            Key::Experiment(number) => format!("Experiment {number}"),
            Key::Rank(Some(number)) => format!("Rank {number}"),
            Key::Rank(None) => "<No rank>".to_owned(),
            Key::Host(number) => format!("Host {number}"),
            Key::Value(value) => value.to_string(),
        }
    }

    /// Its number; `None` for time without a CPU, or without a rank.
    pub fn number(self) -> Option<i64> {
        match self {
            Key::Cpu(cpu) => Some(i64::from(cpu)),
            Key::UnknownCpu | Key::OffCpu => None,
            Key::Second(number)
            | Key::Sample(number)
            | Key::Experiment(number)
            | Key::Host(number) => Some(i64::from(number)),
            Key::Rank(number) => number.map(i64::from),
            Key::Process(pid) => Some(i64::from(pid)),
            Key::Value(value) => Some(value),
        }
    }
}

/// An index object and its time.
#[derive(Clone, Debug, PartialEq)]
pub struct IndexRow {
    /// Its key.
    pub key: Key,
    /// Its time by the requested metrics.
    pub seconds: Seconds,
}

/// The sums of parts of items by key, in the order of the keys.
fn sums<'a>(
    parts: impl Iterator<Item = (Key, &'a Item, f64)>,
    metrics: &[Metric],
) -> Vec<IndexRow> {
    let mut sums = BTreeMap::<Key, Seconds>::new();
    for (key, item, part) in parts {
        let zero = || Seconds::from(vec![0.0; metrics.len()]);
        let sums = sums.entry(key).or_insert_with(zero);
        for (sum, metric) in sums.iter_mut().zip(metrics) {
            *sum += metric.value(item) * part;
        }
    }
    let rows = sums.into_iter();
    rows.map(|(key, seconds)| IndexRow { key, seconds })
        .collect()
}

/// Time by the key of each item.
fn by_key(profile: &Profile, metrics: &[Metric], key: impl Fn(&Item) -> Key) -> Vec<IndexRow> {
    let items = profile.items.iter();
    sums(items.map(|item| (key(item), item, 1.0)), metrics)
}

/// Time by second of the experiment.
pub fn seconds(profile: &Profile, metrics: &[Metric]) -> Vec<IndexRow> {
    by_key(profile, metrics, |item| Key::Second(item.slice))
}

/// Time by sample; `numbers` are the parts of each item by the filter word `SAMPLE`.
pub fn samples(profile: &Profile, numbers: &[Parts], metrics: &[Metric]) -> Vec<IndexRow> {
    by_value(profile, numbers, metrics, |number| {
        Key::Sample(u32::try_from(number).unwrap_or(u32::MAX))
    })
}

/// Time by process.
pub fn processes(profile: &Profile, tables: &Tables, metrics: &[Metric]) -> Vec<IndexRow> {
    by_key(profile, metrics, |item| {
        let thread = tables.threads.get(item.thread.index());
        let process = thread.and_then(|thread| tables.processes.get(thread.process.index()));
        Key::Process(process.map_or(0, |it| it.pid))
    })
}

/// Time by experiment; `origins` is the number of each thread's experiment.
pub fn experiments(profile: &Profile, origins: &[u32], metrics: &[Metric]) -> Vec<IndexRow> {
    by_key(profile, metrics, |item| {
        Key::Experiment(origins.get(item.thread.index()).copied().unwrap_or(1))
    })
}

/// Time by what is known of the recording of each thread.
pub fn recordings(
    profile: &Profile,
    (recordings, origins): (&[Recording], &[u32]),
    metrics: &[Metric],
    key: impl Fn(&Recording) -> Key,
) -> Vec<IndexRow> {
    let none = Recording::default();
    by_key(profile, metrics, |item| {
        key(recording_of(recordings, origins, item.thread).unwrap_or(&none))
    })
}

/// Time by the values of an expression; `values` are the parts of each item
/// ([`crate::filter::values`]).
pub fn defined(profile: &Profile, values: &[Parts], metrics: &[Metric]) -> Vec<IndexRow> {
    by_value(profile, values, metrics, Key::Value)
}

fn by_value(
    profile: &Profile,
    values: &[Parts],
    metrics: &[Metric],
    key: impl Fn(i64) -> Key + Copy,
) -> Vec<IndexRow> {
    let items = profile.items.iter().zip(values);
    let part = |(item, parts): (_, &Parts)| {
        let parts = parts.clone().into_iter();
        parts.map(move |(value, part)| (key(value), item, part))
    };
    sums(items.flat_map(part), metrics)
}

/// Time by CPU; `cpus` are the CPUs of each item ([`crate::filter::on_cpus`]).
pub fn cpus(profile: &Profile, cpus: &[Vec<(ItemCpu, f64)>], metrics: &[Metric]) -> Vec<IndexRow> {
    let key = |cpu: ItemCpu| match cpu {
        ItemCpu::Cpu(cpu) => Key::Cpu(cpu),
        ItemCpu::Unknown => Key::UnknownCpu,
        ItemCpu::Off => Key::OffCpu,
    };
    let items = profile.items.iter().zip(cpus);
    let parts = items.flat_map(|(item, cpus)| {
        let cpus = cpus.iter();
        cpus.map(move |&(cpu, part)| (key(cpu), item, part))
    });
    sums(parts, metrics)
}
