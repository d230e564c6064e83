//! Regions and tasks: what the recording counted of each construct, and the time inside it.

use omp_model::ids::{ContextId, Nanos, ThreadId};
use omp_model::metrics::Metric;
use omp_model::profile::{Callee, Profile};
use omp_model::tables::ContextKind;
use omp_model::views::names::Names;
use rustc_hash::{FxHashMap, FxHashSet};

use crate::recording::Recording;

/// A construct: all contexts that one directive was met in.
#[derive(Clone, Debug, PartialEq)]
pub struct RegionRow {
    /// What it is.
    pub kind: ContextKind,
    /// What it is called.
    pub name: String,
    /// Its contexts.
    pub contexts: Vec<ContextId>,
    /// How many instances ended; `None` where instances are not counted (tasks).
    pub instances: Option<u64>,
    /// From begin to end on the encountering threads, summed; `None` likewise.
    pub elapsed: Option<Nanos>,
    /// The largest team; 0 if no instance ended.
    pub team: u16,
    /// Threads that spent time in it.
    pub threads: usize,
    /// Time of all threads whose innermost construct it is, by the metrics asked for.
    pub seconds: Vec<f64>,
}

/// Every region, teams region and task, the longest inside first. `all_time` is false where only a
/// part of the profile is looked at: then instances, which are counted for whole threads, are not
/// told.
pub fn regions(
    recording: &Recording,
    profile: &Profile,
    metrics: &[Metric],
    all_time: bool,
) -> Vec<RegionRow> {
    let tables = &recording.experiment.tables;
    let names = ConstructNames::new(recording);
    let mut rows: Vec<RegionRow> = Vec::new();
    let mut index = FxHashMap::default();
    let mut row_of = vec![None; tables.contexts.len()];
    for (at, context) in tables.contexts.rows().iter().enumerate().skip(1) {
        let id = ContextId(at as u32);
        let name = names.name(id);
        let key = (context.kind, name);
        let row = *index.entry(key).or_insert_with_key(|(kind, name)| {
            rows.push(RegionRow {
                kind: *kind,
                name: name.clone(),
                contexts: Vec::new(),
                instances: (all_time && *kind != ContextKind::Task).then_some(0),
                elapsed: (all_time && *kind != ContextKind::Task).then_some(Nanos(0)),
                team: 0,
                threads: 0,
                seconds: vec![0.0; metrics.len()],
            });
            rows.len() - 1
        });
        rows[row].contexts.push(id);
        row_of[at] = Some(row);
    }
    for sum in &recording.experiment.region_sums {
        if let Some(Some(row)) = row_of.get(sum.context.index()) {
            let row = &mut rows[*row];
            row.team = row.team.max(sum.team);
            if let (Some(instances), Some(elapsed)) = (&mut row.instances, &mut row.elapsed) {
                *instances += u64::from(sum.instances);
                elapsed.0 += sum.elapsed.0;
            }
        }
    }
    let mut threads: FxHashSet<(usize, ThreadId)> = FxHashSet::default();
    let mut total = vec![0.0; rows.len()];
    for item in &profile.items {
        let Some(Some(row)) = row_of.get(item.context.index()) else {
            continue;
        };
        total[*row] += item.seconds;
        threads.insert((*row, item.thread));
        for (seconds, metric) in rows[*row].seconds.iter_mut().zip(metrics) {
            *seconds += metric.seconds(item);
        }
    }
    for (row, _) in &threads {
        rows[*row].threads += 1;
    }
    let mut order: Vec<usize> = (0..rows.len()).collect();
    order.sort_by(|&left, &right| total[right].total_cmp(&total[left]));
    let mut rows: Vec<Option<RegionRow>> = rows.into_iter().map(Some).collect();
    let known = order.into_iter().filter_map(|at| rows[at].take());
    known
        .filter(|row| row.threads > 0 || row.instances.is_some_and(|count| count > 0))
        .collect()
}

/// What constructs are called: by their outlined function, as every other view calls them, where
/// one is known.
#[derive(Debug)]
pub struct ConstructNames<'a> {
    recording: &'a Recording,
    names: Names<'a>,
}

impl<'a> ConstructNames<'a> {
    /// Of a recording.
    pub fn new(recording: &'a Recording) -> ConstructNames<'a> {
        ConstructNames {
            recording,
            names: recording.names(),
        }
    }

    /// The construct's name.
    pub fn name(&self, context: ContextId) -> String {
        let moments = self.recording.moments(omp_model::profile::ViewMode::User);
        let callee = moments.construct(context);
        self.names
            .name(callee.unwrap_or(Callee::Construct(context)))
    }
}

/// A kind's word.
pub const fn kind_word(kind: ContextKind) -> &'static str {
    match kind {
        ContextKind::Root => "program",
        ContextKind::Region => "region",
        ContextKind::Teams => "teams",
        ContextKind::Task => "task",
    }
}
