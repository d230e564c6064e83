//! Who did what when: the recording's rows in the order that a timeline needs them.
//!
//! Three sources, the most exact first. A slice of time that a column covers whole has its sums,
//! to the nanosecond, as the views refine them by stacks. Else listed intervals are drawn where they were. What is shorter than what
//! is listed has samples, which say what the thread did at their moments; and where there is no
//! sample, what the slice's sums leave over after its listed intervals, in proportion.

mod bands;
mod constructs;
mod slots;
mod spells;
mod window;

use std::ops::Range;

use omp_model::ids::{ContextId, Nanos, ProcessId, ThreadId};
use omp_model::profile::ViewMode;
use omp_model::rows::Interval;
use omp_model::tables::{ContextKind, Thread};

use crate::activity::Activity;
use crate::recording::Recording;

pub use bands::{Band, Bands};
pub(crate) use slots::column;
pub use slots::{Place, Slot};
use spells::Spell;
use window::FrameOfSamples;
pub use window::Window;
pub(crate) use window::refined;

/// The rows of a recording by thread and time.
#[derive(Debug)]
pub struct Timeline {
    /// Threads, grouped by process, in the order of their appearance.
    pub threads: Vec<ThreadId>,
    /// The end of time.
    pub end: Nanos,
    lives: Vec<Range<u64>>,
    activities: Vec<Activity>,
    /// What each tag's context is.
    contexts: Vec<ContextId>,
    spells: ByThread<Spell>,
    intervals: ByThread<Interval>,
    regions: Bands,
    tasks: Vec<Bands>,
    frames: Vec<FrameOfSamples>,
}

/// Rows sorted by thread, and where each thread's begin.
#[derive(Debug)]
struct ByThread<T> {
    rows: Vec<T>,
    starts: Vec<usize>,
}

impl<T> ByThread<T> {
    /// `rows` must be sorted by thread.
    fn new(rows: Vec<T>, threads: usize, thread: impl Fn(&T) -> ThreadId) -> ByThread<T> {
        let starts = (0..=threads)
            .map(|at| rows.partition_point(|row| thread(row).index() < at))
            .collect();
        ByThread { rows, starts }
    }

    fn of(&self, thread: ThreadId) -> &[T] {
        let at = thread.index();
        match (self.starts.get(at), self.starts.get(at + 1)) {
            (Some(&start), Some(&end)) => &self.rows[start..end],
            _ => &[],
        }
    }
}

impl Timeline {
    /// Sorts a recording's rows.
    pub(crate) fn new(recording: &Recording) -> Timeline {
        let experiment = &recording.experiment;
        let table = &experiment.tables.threads;
        let mut intervals = experiment.intervals.clone();
        intervals.sort_unstable_by_key(|row| (row.thread, row.start));
        let contexts = &experiment.tables.contexts;
        let depth = |context| {
            let chain = std::iter::successors(Some(context), |&at: &ContextId| {
                let row = contexts.get(at.0)?;
                (row.parent != at).then_some(row.parent)
            });
            let is_team = |at: &ContextId| {
                let kind = contexts.get(at.0).map(|row| row.kind);
                matches!(kind, Some(ContextKind::Region | ContextKind::Teams))
            };
            chain.filter(is_team).count() as u16
        };
        let mut pieces = experiment.task_spans.clone();
        pieces.sort_unstable_by_key(|piece| piece.thread);
        let pieces = ByThread::new(pieces, table.len(), |piece| piece.thread);
        let ids_of = |at: usize| ThreadId(at as u32);
        let tasks = (0..table.len()).map(|at| Bands::of_tasks(pieces.of(ids_of(at))));
        let ids = (0..table.len() as u32).map(ThreadId);
        let mut threads: Vec<ThreadId> = ids.collect();
        let process = |thread: &ThreadId| {
            let row = table.get(thread.index());
            row.map_or(ProcessId(0), |row| row.process)
        };
        threads.sort_by_key(process);
        let end = experiment.duration().max(experiment.last);
        let life = |thread: &Thread| {
            let death = thread.death.unwrap_or(end);
            thread.birth.0..death.0.max(thread.birth.0)
        };
        let tags = || experiment.tables.tags.rows().iter();
        let activities: Vec<Activity> = tags()
            .map(|tag| Activity::of_state(recording.symbols.state_of(*tag)))
            .collect();
        let spells = match experiment.samples.len() <= MOST_REFINED {
            true => spells::spells(
                recording.by_second(ViewMode::User),
                &experiment.sums,
                table.len(),
            ),
            false => spells::of_sums(&experiment.sums, &activities, table.len()),
        };
        Timeline {
            threads,
            end,
            lives: table.iter().map(life).collect(),
            contexts: tags().map(|tag| tag.context).collect(),
            activities,
            spells,
            intervals: ByThread::new(intervals, table.len(), |row| row.thread),
            regions: Bands::of_regions(&experiment.region_spans, depth),
            tasks: tasks.collect(),
            frames: window::frames(recording),
        }
    }

    /// When a thread lived.
    pub fn life(&self, thread: ThreadId) -> Range<u64> {
        self.lives.get(thread.index()).cloned().unwrap_or(0..0)
    }

    /// The listed interval that a thread is in at a moment.
    pub fn interval(&self, thread: ThreadId, time: Nanos) -> Option<&Interval> {
        let rows = self.intervals.of(thread);
        let after = rows.partition_point(|row| row.start <= time);
        let row = rows.get(after.checked_sub(1)?)?;
        (time.0 < row.start.0 + row.length.0).then_some(row)
    }

    /// The nearest border of a listed interval of a thread after (or before) a moment.
    pub fn border(&self, thread: ThreadId, time: Nanos, forward: bool) -> Option<Nanos> {
        let rows = self.intervals.of(thread);
        let borders = |row: &Interval| [row.start.0, row.start.0 + row.length.0];
        let at = rows.partition_point(|row| row.start <= time);
        let near = &rows[at.saturating_sub(2)..rows.len().min(at + 2)];
        let all = near.iter().flat_map(borders);
        let found = match forward {
            true => all.filter(|&border| border > time.0).min(),
            false => all.filter(|&border| border < time.0).max(),
        };
        found.map(Nanos)
    }

    /// The listed region instances.
    pub fn regions(&self) -> &Bands {
        &self.regions
    }

    /// The listed pieces of tasks that a thread ran; `None` for a thread that there is not.
    pub fn tasks(&self, thread: ThreadId) -> Option<&Bands> {
        self.tasks.get(thread.index())
    }

    /// Whether any time of a thread was spent on an activity.
    pub fn ever(&self, thread: ThreadId, activity: Activity) -> bool {
        let mut spells = self.spells.of(thread).iter();
        spells.any(|spell| spell.activity == activity)
    }

    /// The context of a recorded tag.
    pub fn context(&self, tag: omp_model::ids::TagId) -> ContextId {
        let known = self.contexts.get(tag.index());
        known.copied().unwrap_or(ContextId::ROOT)
    }

    /// The activity of a recorded tag.
    pub fn activity(&self, tag: omp_model::ids::TagId) -> Activity {
        let known = self.activities.get(tag.index());
        known.copied().unwrap_or(Activity::Unknown)
    }
}

/// Of more samples than this, the timeline's seconds are by recorded states alone: what stacks
/// refine of each second would take memory for each sample.
pub(crate) const MOST_REFINED: u64 = 4_000_000;
