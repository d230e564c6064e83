//! The rows of an experiment in the order that a timeline needs them.

use std::cmp::Reverse;
use std::ops::Range;

use experiment::ids::{ContextId, Nanos, ProcessId, ThreadId};
use experiment::rows::{Interval, PointKind, Sample, Span};
use experiment::tables::{ContextKind, Thread, ThreadKind};
use omp_model::analysis::Analysis;
use omp_model::profile::{Inline, ViewMode};

use super::activity::Activity;
use super::bands::Bands;
use super::by_thread::ByThread;
use super::frames::{FrameOfSamples, frames};
use super::holds::{self, Hold};
use super::spells::{self, Spell};
use super::stacks::Stacks;

/// Of more samples than this, the timeline's seconds are by recorded states alone: what stacks
/// refine of each second would take memory for each sample.
pub const MOST_REFINED: u64 = 4_000_000;

/// The rows of an experiment by thread and time.
#[derive(Debug)]
pub struct Timeline {
    /// Threads, grouped by process, in the order of their appearance.
    pub threads: Vec<ThreadId>,
    /// The end of time.
    pub end: Nanos,
    pub(super) lives: Vec<Range<u64>>,
    pub(super) activities: Vec<Activity>,
    /// What each thread state's context is.
    pub(super) contexts: Vec<ContextId>,
    pub(super) spells: ByThread<Spell>,
    pub(super) intervals: ByThread<Interval>,
    pub(super) holds: ByThread<Hold>,
    pub(super) regions: Bands,
    pub(super) tasks: Vec<Bands>,
    pub(super) frames: Vec<FrameOfSamples>,
    pub(super) kinds: Vec<ThreadKind>,
    /// Phases and pauses by their start, outer ones first.
    spans: Vec<Span>,
    has_marks: bool,
}

impl Timeline {
    /// Sorts an experiment's rows.
    pub fn new(recording: &Analysis) -> Timeline {
        let experiment = &recording.experiment;
        let table = &experiment.tables.threads;
        let mut intervals = experiment.intervals.clone();
        intervals.sort_unstable_by_key(|row| (row.thread, row.start));
        let holds = holds::holds(&intervals, experiment.tables.thread_states.rows());
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
        let thread_states = || experiment.tables.thread_states.rows().iter();
        let activities: Vec<Activity> = thread_states()
            .map(|thread_state| Activity::of_state(recording.symbols.state_of(*thread_state)))
            .collect();
        let spells = if experiment.samples.len() <= MOST_REFINED {
            spells::spells(
                recording.by_second(ViewMode::User, Inline::On),
                &experiment.sums,
                table.len(),
            )
        } else {
            spells::of_sums(&experiment.sums, &activities, table.len())
        };
        let mut spans = experiment.spans.clone();
        spans.sort_by_key(|span| (span.start, Reverse(span.length)));
        Timeline {
            threads,
            end,
            lives: table.iter().map(life).collect(),
            contexts: thread_states()
                .map(|thread_state| thread_state.context)
                .collect(),
            activities,
            spells,
            holds: ByThread::new(holds, table.len(), |hold| hold.thread),
            intervals: ByThread::new(intervals, table.len(), |row| row.thread),
            regions: Bands::of_regions(&experiment.region_spans, depth),
            tasks: tasks.collect(),
            frames: frames(&experiment.samples),
            kinds: table.iter().map(|thread| thread.kind).collect(),
            has_marks: !spans.is_empty()
                || experiment
                    .sample_points
                    .iter()
                    .any(|it| it.kind != PointKind::Period),
            spans,
        }
    }

    /// When a thread lived.
    pub fn life(&self, thread: ThreadId) -> Range<u64> {
        self.lives.get(thread.index()).cloned().unwrap_or(0..0)
    }

    /// The listed intervals of a thread, by time.
    pub fn intervals(&self, thread: ThreadId) -> &[Interval] {
        self.intervals.of(thread)
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
        let found = if forward {
            all.filter(|&border| border > time.0).min()
        } else {
            all.filter(|&border| border < time.0).max()
        };
        found.map(Nanos)
    }

    /// Whether the program or the user marked times: phases, pauses, or sample points but for those of
    /// a period.
    pub fn has_marks(&self) -> bool {
        self.has_marks
    }

    /// The phases and pauses that overlap a range of time, by their start, outer ones first.
    pub fn spans_within(&self, range: &Range<u64>) -> impl Iterator<Item = &Span> {
        let last = self.spans.partition_point(|span| span.start.0 < range.end);
        let begun = self.spans.get(..last).unwrap_or_default().iter();
        let start = range.start;
        begun.filter(move |span| span.end().0 > start)
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

    /// The context of a recorded thread state.
    pub fn context(&self, thread_state: experiment::ids::ThreadStateId) -> ContextId {
        let known = self.contexts.get(thread_state.index());
        known.copied().unwrap_or(ContextId::ROOT)
    }

    /// The activity of a recorded thread state.
    pub fn activity(&self, thread_state: experiment::ids::ThreadStateId) -> Activity {
        let known = self.activities.get(thread_state.index());
        known.copied().unwrap_or(Activity::Unknown)
    }

    /// What kind of thread one is.
    pub fn kind_of(&self, thread: ThreadId) -> ThreadKind {
        let known = self.kinds.get(thread.index());
        known.copied().unwrap_or(ThreadKind::Outside)
    }

    /// What a sample shows its thread to do, in every mode: its recorded state, and where stacks
    /// of user mode tell more, what that is.
    pub fn refined(&self, stacks: Option<&Stacks>, sample: &Sample) -> Activity {
        let recorded = self.activity(sample.thread_state);
        let Some(stacks) = stacks.filter(|_| recorded != Activity::Unknown) else {
            return recorded;
        };
        let seen = stacks.sample(
            sample.stack,
            sample.thread_state,
            self.kind_of(sample.thread),
        );
        seen.map_or(recorded, |(path, state)| {
            Activity::of_leaf(stacks.leaf(path), state)
        })
    }
}
