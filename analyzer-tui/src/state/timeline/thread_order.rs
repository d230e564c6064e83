//! The rows of the timeline: threads in groups.

use std::ops::Range;

use experiment::ids::{ContextId, ThreadId};
use experiment::rows::Within;
use experiment::tables::{ContextKind, ThreadKind};
use omp_model::views::threads::{kind_name, thread_name};
use report::timeline::{Activity, column};
use rustc_hash::FxHashMap;

use super::state::{Group, Grouping, Line, ThreadOrder};
use crate::state::app::App;

impl App {
    /// The threads in the order of their rows, without those that the filter excludes.
    pub fn threads(&self) -> &[ThreadId] {
        &self.thread_order().threads
    }

    /// A thread's label: its number, its kind and the name that the program gave it, after the process's
    /// or experiment's number if there are several.
    pub fn thread_label(&self, thread: ThreadId) -> String {
        let tables = &self.experiments.experiment.tables;
        let Some(row) = tables.threads.get(thread.index()) else {
            return String::new();
        };
        let own = thread_name(tables, row);
        match tables.processes.get(row.process.index()) {
            _ if self.experiments.parts().len() > 1 => format!("({}) {own}", self.origin(thread)),
            Some(process)
                if tables.processes.len() > 1 && self.timeline.grouping != Grouping::Process =>
            {
                format!("{}/{own}", process.pid)
            }
            _ => own,
        }
    }

    /// In a comparison, the experiment of the selected thread: its region instances are drawn.
    pub fn experiment_of_bands(&self) -> Option<u32> {
        let thread = self.threads().get(self.timeline.row)?;
        self.is_compared().then(|| self.origin(*thread))
    }

    pub(crate) fn thread_names(&self) -> Vec<String> {
        let threads = self.threads();
        threads
            .iter()
            .map(|thread| self.thread_label(*thread))
            .collect()
    }

    /// The number of threads that fit, without lines for groups.
    pub fn threads_in_sight(&self) -> usize {
        (usize::from(self.timeline_parts().rows.height) / self.lines_per_thread()).max(1)
    }

    /// The lines in sight, each with its offset. The first line is the first thread's group, even if
    /// the group begins above.
    pub fn lines_in_sight(&self) -> Vec<(u16, Line<'_>)> {
        let height = usize::from(self.timeline_parts().rows.height);
        let (order, top) = (self.thread_order(), self.timeline.top);
        let mut lines = Vec::new();
        let mut y = 0;
        for row in top..order.threads.len() {
            let group = order.group(row);
            if let Some(group) = group.filter(|group| row == top || group.start == row) {
                lines.push((y as u16, Line::Group(group)));
                y += 1;
            }
            if y >= height {
                break;
            }
            lines.push((y as u16, Line::Thread(row)));
            y += self.lines_per_thread();
        }
        lines.retain(|(y, _)| usize::from(*y) < height);
        lines
    }

    /// The number of lines of rows, if the first of them is the first in sight.
    pub(super) fn lines_of(&self, rows: Range<usize>) -> usize {
        let order = self.thread_order();
        let groups = if order.groups.is_empty() {
            0
        } else {
            1 + order.beginnings(rows.start + 1..rows.end)
        };
        rows.len() * self.lines_per_thread() + groups
    }

    /// The rows of the timeline.
    pub fn thread_order(&self) -> &ThreadOrder {
        self.timeline.order.get_or_init(|| {
            let kept = self.documents.kept_threads(&self.experiments);
            let all = self.experiments.timeline().threads.iter().copied();
            let is_kept =
                |thread: &ThreadId| kept.as_ref().is_none_or(|kept| kept.contains(thread));
            let threads = all.filter(is_kept);
            let mut labels: Vec<String> = Vec::new();
            let mut grouped: Vec<(usize, ThreadId)> = threads
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
            grouped.sort_by_key(|&(group, _)| group);
            if self.timeline.grouping == Grouping::Process && self.is_compared() {
                return self.interleaved(grouped.into_iter().map(|(_, thread)| thread).collect());
            }
            let shown = self.timeline.grouping != Grouping::Process || labels.len() > 1;
            let groups = labels.into_iter().enumerate().filter(|_| shown);
            let groups = groups.map(|(at, label)| {
                let start = grouped.partition_point(|&(group, _)| group < at);
                let count = grouped[start..].partition_point(|&(group, _)| group == at);
                let threads = if count == 1 { "thread" } else { "threads" };
                Group {
                    start,
                    label: format!("{label}, {count} {threads}"),
                }
            });
            ThreadOrder {
                groups: groups.collect(),
                threads: grouped.into_iter().map(|(_, thread)| thread).collect(),
            }
        })
    }

    /// The order in a comparison: the n-th thread of a kind of each experiment, one below another.
    fn interleaved(&self, mut threads: Vec<ThreadId>) -> ThreadOrder {
        let tables = &self.experiments.experiment.tables;
        let mut counts = FxHashMap::<(u32, &str), u32>::default();
        let mut sort_keys = FxHashMap::default();
        let mut kinds: Vec<&str> = Vec::new();
        // Numbers count all threads, also those that the filter excludes.
        for &thread in &self.experiments.timeline().threads {
            let row = tables.threads.get(thread.index());
            let kind = row.map_or("", |row| kind_name(row.kind));
            let number = counts.entry((self.origin(thread), kind)).or_default();
            *number += 1;
            if !kinds.contains(&kind) {
                kinds.push(kind);
            }
            let at = kinds.iter().position(|known| *known == kind);
            sort_keys.insert(thread, (at, *number, self.origin(thread)));
        }
        threads.sort_by_key(|thread| sort_keys.get(thread).copied());
        ThreadOrder {
            threads,
            groups: Vec::new(),
        }
    }

    fn group_of(&self, thread: ThreadId) -> String {
        let tables = &self.experiments.experiment.tables;
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
                let timeline = self.experiments.timeline();
                let pool = match row.kind {
                    ThreadKind::Initial | ThreadKind::Worker => "OpenMP",
                    _ if timeline.ever(thread, Activity::OpenBlasIdle) => "OpenBLAS's pool",
                    _ => "threads of no known pool",
                };
                if tables.processes.len() > 1 {
                    format!("{pool} of {process}")
                } else {
                    pool.to_owned()
                }
            }
        }
    }

    /// The team of a thread at a moment, from the region instance of its interval or nearest
    /// sample; only the region if the instance is unknown.
    fn team_of(&self, thread: ThreadId, time: u64) -> String {
        let timeline = self.experiments.timeline();
        let window = &self.timeline.window;
        let moment = time..time + 1;
        let interval = timeline.interval(thread, experiment::ids::Nanos(time));
        let context = match interval {
            Some(row) => Some(timeline.context(row.thread_state)),
            None => timeline.contexts(thread, &moment, 1, window)[0].or_else(|| {
                // Between samples: the context of most of the cursor's column.
                let columns = self.timeline_parts().columns().max(1);
                let at = self.column_of(time)?;
                let part = column(&self.timeline.range, columns, at);
                timeline.contexts(thread, &part, 1, window)[0]
            }),
        };
        let Some(context) = context else {
            return if timeline.life(thread).contains(&time) {
                "not known: what runs here is too short to be listed".to_owned()
            } else {
                "not alive".to_owned()
            };
        };
        let Some(region) = self.region_of(context) else {
            return "in no team".to_owned();
        };
        let name = self.experiments.construct_name(region);
        let within = match interval {
            Some(row) => row.within,
            None => self.sampled_within(thread, time, region),
        };
        let running = timeline.regions().at(time);
        let own = running.iter().find(|band| {
            band.context == region
                && within.region != 0
                && self.is_innermost_region(thread, within, band)
        });
        if let Some(band) = own {
            let (instance, primary) = (self.instance_of(band), self.tid(band.thread));
            return format!("team of {instance}, forked by {primary}");
        }
        match within.region {
            0 => format!("team of {name}"),
            number => format!("team of instance {number} of {name}"),
        }
    }

    /// The instances of a thread's nearest sample in a region.
    fn sampled_within(&self, thread: ThreadId, time: u64, region: ContextId) -> Within {
        let timeline = self.experiments.timeline();
        let samples = self.timeline.window.of(thread).iter();
        let inside =
            samples.filter(|it| self.region_of(timeline.context(it.thread_state)) == Some(region));
        let near = inside.min_by_key(|sample| sample.time.0.abs_diff(time));
        near.map_or_else(Within::default, |sample| sample.within)
    }

    fn tid(&self, thread: ThreadId) -> String {
        let threads = &self.experiments.experiment.tables.threads;
        let row = threads.get(thread.index());
        row.map_or_else(
            || "a thread".to_owned(),
            |row| format!("thread {}", row.tid),
        )
    }

    /// The construct for a thread's line of tasks: a task or a nested region; `None` for the code of
    /// an outermost region.
    pub fn inner_construct(&self, context: ContextId) -> Option<ContextId> {
        let row = self.experiments.experiment.tables.contexts.get(context.0)?;
        let counts = match row.kind {
            ContextKind::Root => false,
            ContextKind::Task | ContextKind::Taskloop => true,
            ContextKind::Region | ContextKind::Teams => row.parent != ContextId::ROOT,
        };
        counts.then_some(context)
    }
}
