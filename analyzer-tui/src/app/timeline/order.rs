//! The order of the timeline's rows: threads in groups.

use omp_model::ids::{ContextId, ThreadId};
use omp_model::rows::Within;
use omp_model::tables::{ContextKind, ThreadKind};
use omp_model::views::threads::kind_name;
use rustc_hash::FxHashMap;

use super::super::App;
use crate::compare::Beside;
use report::timeline::Activity;

/// By what threads stand together.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Grouping {
    /// The process.
    #[default]
    Process,
    /// The team that each is in at a moment, in nanoseconds.
    Team(u64),
    /// The pool of threads: OpenMP's, OpenBLAS's, or none.
    Pool,
}

/// A group of threads.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Group {
    /// Its first row.
    pub start: usize,
    /// What its threads have in common.
    pub label: String,
}

/// The threads in the order of their rows.
#[derive(Clone, Debug, Default)]
pub struct Order {
    /// The threads, without those that a filter leaves no time of.
    pub threads: Vec<ThreadId>,
    /// Their groups; none if one group of processes holds them all.
    pub groups: Vec<Group>,
}

impl Order {
    /// The group that a row stands in.
    pub fn group(&self, row: usize) -> Option<&Group> {
        let after = self.groups.partition_point(|group| group.start <= row);
        self.groups.get(after.checked_sub(1)?)
    }

    /// How many groups begin at rows of a range.
    pub fn beginnings(&self, rows: std::ops::Range<usize>) -> usize {
        let before = |row: usize| self.groups.partition_point(|group| group.start < row);
        before(rows.end).saturating_sub(before(rows.start))
    }
}

impl App {
    /// The rows of the timeline.
    pub fn order(&self) -> &Order {
        self.timeline.order.get_or_init(|| {
            let kept = self.data.kept_threads();
            let all = self.recording.timeline().threads.iter().copied();
            let is_kept =
                |thread: &ThreadId| kept.as_ref().is_none_or(|kept| kept.contains(thread));
            let threads = all.filter(is_kept);
            let mut labels: Vec<String> = Vec::new();
            let mut placed: Vec<(usize, ThreadId)> = threads
                .map(|thread| {
                    let label = self.group_of(thread);
                    let known = labels.iter().position(|known| *known == label);
                    let group = known.unwrap_or_else(|| {
                        labels.push(label);
                        labels.len() - 1
                    });
                    (group, thread)
                })
                .collect();
            placed.sort_by_key(|&(group, _)| group);
            if self.timeline.grouping == Grouping::Process && self.is_compared() {
                return self.paired(placed.into_iter().map(|(_, thread)| thread).collect());
            }
            let shown = self.timeline.grouping != Grouping::Process || labels.len() > 1;
            let groups = labels.into_iter().enumerate().filter(|_| shown);
            let groups = groups.map(|(at, label)| {
                let start = placed.partition_point(|&(group, _)| group < at);
                let count = placed[start..].partition_point(|&(group, _)| group == at);
                let threads = if count == 1 { "thread" } else { "threads" };
                Group {
                    start,
                    label: format!("{label}, {count} {threads}"),
                }
            });
            Order {
                groups: groups.collect(),
                threads: placed.into_iter().map(|(_, thread)| thread).collect(),
            }
        })
    }

    /// Threads of one kind and place in the order of each experiment under each other, as
    /// [`crate::compare::of_threads`] matches them.
    fn paired(&self, mut threads: Vec<ThreadId>) -> Order {
        let tables = &self.recording.experiment.tables;
        let mut counts = FxHashMap::<(u32, &str), u32>::default();
        let mut places = FxHashMap::default();
        let mut kinds: Vec<&str> = Vec::new();
        // Numbers are those of all threads, whatever a filter leaves.
        for &thread in &self.recording.timeline().threads {
            let row = tables.threads.get(thread.index());
            let kind = row.map_or("", |row| kind_name(row.kind));
            let number = counts.entry((self.origin(thread), kind)).or_default();
            *number += 1;
            if !kinds.contains(&kind) {
                kinds.push(kind);
            }
            let at = kinds.iter().position(|known| *known == kind);
            places.insert(thread, (at, *number, self.origin(thread)));
        }
        threads.sort_by_key(|thread| places.get(thread).copied());
        Order {
            threads,
            groups: Vec::new(),
        }
    }

    /// Of which experiment a thread is, from 1.
    pub fn origin(&self, thread: ThreadId) -> u32 {
        let origin = self.recording.origins.get(thread.index());
        origin.copied().unwrap_or(1)
    }

    /// Whether experiments stand beside each other.
    pub fn is_compared(&self) -> bool {
        Beside::of(&self.data, &self.recording).is_some()
    }

    fn group_of(&self, thread: ThreadId) -> String {
        let tables = &self.recording.experiment.tables;
        let Some(row) = tables.threads.get(thread.index()) else {
            return String::new();
        };
        let process = tables.processes.get(row.process.index());
        let process = process.map_or_else(String::new, |process| {
            format!("process {} {}", process.pid, process.name)
        });
        match self.timeline.grouping {
            Grouping::Process => process,
            Grouping::Team(time) => self.team_of(thread, time),
            Grouping::Pool => {
                let timeline = self.recording.timeline();
                let pool = match row.kind {
                    ThreadKind::Initial | ThreadKind::Worker => "OpenMP",
                    _ if timeline.ever(thread, Activity::OpenBlasIdle) => "OpenBLAS's pool",
                    _ => "threads of no known pool",
                };
                match tables.processes.len() > 1 {
                    true => format!("{pool} of {process}"),
                    false => pool.to_owned(),
                }
            }
        }
    }

    /// The team that a thread is in at a moment: that of the region instance that its listed
    /// interval names, or its nearest sample; else all that is known is the region.
    fn team_of(&self, thread: ThreadId, time: u64) -> String {
        let timeline = self.recording.timeline();
        let window = &self.timeline.window;
        let moment = time..time + 1;
        let interval = timeline.interval(thread, omp_model::ids::Nanos(time));
        let context = match interval {
            Some(row) => Some(timeline.context(row.tag)),
            None => timeline.contexts(thread, &moment, 1, window)[0].or_else(|| {
                // Between samples: what the column under the cursor holds most of.
                let columns = self.timeline_parts().columns().max(1);
                let at = self.column_of(time)?;
                let part = report::timeline::column(&self.timeline.range, columns, at);
                timeline.contexts(thread, &part, 1, window)[0]
            }),
        };
        let Some(context) = context else {
            return match timeline.life(thread).contains(&time) {
                true => "not known: what runs here is too short to be listed".to_owned(),
                false => "not alive".to_owned(),
            };
        };
        let Some(region) = self.region_of(context) else {
            return "in no team".to_owned();
        };
        let name = self.recording.construct_name(region);
        let within = match interval {
            Some(row) => row.within,
            None => self.sampled_within(thread, time, region),
        };
        let running = timeline.regions().at(time);
        let own = running.iter().find(|band| {
            band.context == region && within.region != 0 && self.is_one(thread, within, band)
        });
        match (own, within.region) {
            (Some(band), _) => format!(
                "team of {}, forked by {}",
                self.instance_of(band),
                self.tid(band.thread)
            ),
            (None, 0) => format!("team of {name}"),
            (None, number) => format!("team of instance {number} of {name}"),
        }
    }

    /// The instances that a thread's nearest sample in a region tells.
    fn sampled_within(&self, thread: ThreadId, time: u64, region: ContextId) -> Within {
        let timeline = self.recording.timeline();
        let samples = self.timeline.window.of(thread).iter();
        let inside = samples.filter(|it| self.region_of(timeline.context(it.tag)) == Some(region));
        let near = inside.min_by_key(|sample| sample.time.0.abs_diff(time));
        near.map_or_else(Within::default, |sample| sample.within)
    }

    fn tid(&self, thread: ThreadId) -> String {
        let threads = &self.recording.experiment.tables.threads;
        let row = threads.get(thread.index());
        row.map_or_else(
            || "a thread".to_owned(),
            |row| format!("thread {}", row.tid),
        )
    }

    /// The construct that stands on a thread's line of tasks: the innermost task or nested region
    /// that a context is in; `None` for the outermost region's own code.
    pub fn inner_construct(&self, context: ContextId) -> Option<ContextId> {
        let row = self.recording.experiment.tables.contexts.get(context.0)?;
        let counts = match row.kind {
            ContextKind::Root => false,
            ContextKind::Task => true,
            ContextKind::Region | ContextKind::Teams => row.parent != ContextId::ROOT,
        };
        counts.then_some(context)
    }
}
