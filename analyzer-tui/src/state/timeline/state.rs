//! The types of the timeline's state.

use std::cell::{OnceCell, RefCell};
use std::ops::Range;
use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use experiment::ids::{ContextId, ThreadId};
use experiment::rows::{Interval, Sample};
use omp_model::profile::PathId;
use omp_model::states::RefinedState;
use report::timeline::{Band, Slot, Window};
use rustc_hash::FxHashMap;

use crate::experiments::Experiments;

/// The shortest range that can be zoomed to: samples are kept to a microsecond.
pub(crate) const SHORTEST: u64 = 20_000;

/// The state of the timeline.
#[derive(Debug)]
pub struct TimelineState {
    /// The time in sight, in nanoseconds.
    pub range: Range<u64>,
    /// The moment of the cursor.
    pub time: u64,
    /// The selected row.
    pub row: usize,
    /// The first thread in sight.
    pub top: usize,
    /// The first lane of region instances in sight.
    pub lane: u16,
    /// What each thread's second line shows.
    pub second: SecondLine,
    /// How threads are grouped.
    pub grouping: Grouping,
    /// The row and moment of the selected box's first corner. The other one is the cursor.
    pub anchor: Option<(usize, u64)>,
    /// The instance that was selected last.
    pub(crate) selected_instance: Option<Band>,
    /// The samples of the time in sight; those of an earlier range until they are unpacked.
    pub window: Window,
    pub(crate) wanted: WantedSamples,
    pub(crate) cache: RefCell<RowCache>,
    pub(crate) end: u64,
    pub(crate) drag: Option<Drag>,
    pub(crate) order: OnceCell<ThreadOrder>,
}

/// What a thread's second line shows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SecondLine {
    /// The share of a column's time on a CPU.
    Share,
    /// The CPU's number, from samples.
    Cpu,
    /// Tasks and nested regions.
    Tasks,
    /// The mutexes that it holds.
    Mutexes,
    /// There is no second line.
    Hidden,
}

/// A line of the rows in sight.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Line<'a> {
    /// The heading of a group of threads.
    Group(&'a Group),
    /// A thread, by its row; its second line follows.
    Thread(usize),
}

/// A drag by the mouse: its first column, and the range at that time.
#[derive(Clone, Debug)]
pub(crate) struct Drag {
    pub(crate) column: u16,
    pub(crate) range: Range<u64>,
}

/// What the experiment has at the cursor.
#[derive(Clone, Debug)]
pub struct AtCursor {
    /// The thread.
    pub thread: ThreadId,
    /// The listed interval, if the moment lies in one.
    pub interval: Option<Interval>,
    /// The sample nearest to the moment in the same column or interval.
    pub sample: Option<Sample>,
    /// The display stack in the current mode, and the thread's refined state.
    pub stack: Option<(PathId, RefinedState)>,
    /// The listed region instances, outermost first, then the pieces of tasks that the thread was
    /// running, innermost last.
    pub bands: Vec<Band>,
}

impl TimelineState {
    pub(crate) fn new(experiments: &Experiments) -> TimelineState {
        let end = experiments
            .experiment
            .duration()
            .max(experiments.experiment.last);
        let end = end.0.max(SHORTEST);
        let first = experiments.experiment.tables.threads.first();
        let first = first.map_or(0, |thread| thread.birth.0);
        TimelineState {
            range: 0..end,
            time: first.min(end - 1),
            row: 0,
            top: 0,
            lane: 0,
            second: SecondLine::Share,
            grouping: Grouping::default(),
            anchor: None,
            selected_instance: None,
            window: Window::default(),
            wanted: WantedSamples::default(),
            cache: RefCell::default(),
            end,
            drag: None,
            order: OnceCell::new(),
        }
    }

    /// Adapts to an experiment that has grown.
    pub(crate) fn grow(&mut self, experiments: &Experiments) {
        let old = self.end;
        let new = TimelineState::new(experiments);
        self.end = new.end;
        self.forget_samples();
        if self.range.end >= old {
            let (start, length) = (self.range.start, self.length());
            match start {
                0 => self.show(0, u64::MAX),
                _ => self.show(self.end - length.min(self.end), length),
            }
        }
    }

    /// Shows a range, shifted or cut so that it lies within the experiment.
    pub(crate) fn show(&mut self, start: u64, length: u64) {
        let length = length.clamp(SHORTEST.min(self.end), self.end);
        let start = start.min(self.end - length);
        self.range = start..start + length;
    }

    pub(crate) fn length(&self) -> u64 {
        self.range.end - self.range.start
    }

    /// Drops the samples of the old experiment.
    pub(crate) fn forget_samples(&mut self) {
        self.window = Window::default();
        *self.cache.get_mut() = RowCache::default();
        self.no_longer_wanted();
    }

    pub(crate) fn no_longer_wanted(&mut self) {
        self.wanted.range = None;
        self.wanted.newest.fetch_add(1, Ordering::Relaxed);
    }
}

/// How threads are grouped.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Grouping {
    /// By process.
    #[default]
    Process,
    /// By team at a moment, in nanoseconds.
    Team(u64),
    /// By pool of threads: OpenMP's, OpenBLAS's, or none.
    Pool,
}

/// A group of threads.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Group {
    /// Its first row.
    pub start: usize,
    /// Its heading.
    pub label: String,
}

/// The threads in the order of their rows.
#[derive(Clone, Debug, Default)]
pub struct ThreadOrder {
    /// The threads, without those that the filter excludes.
    pub threads: Vec<ThreadId>,
    /// Their groups; none for a single process.
    pub groups: Vec<Group>,
}

impl ThreadOrder {
    /// The group of a row.
    pub fn group(&self, row: usize) -> Option<&Group> {
        let after = self.groups.partition_point(|group| group.start <= row);
        self.groups.get(after.checked_sub(1)?)
    }

    /// The number of groups that begin in a range of rows.
    pub fn beginnings(&self, rows: std::ops::Range<usize>) -> usize {
        let before = |row: usize| self.groups.partition_point(|group| group.start < row);
        before(rows.end).saturating_sub(before(rows.start))
    }
}

/// The request for samples.
#[derive(Debug, Default)]
pub(crate) struct WantedSamples {
    /// The time in sight, until its samples are there.
    pub(crate) range: Option<Range<u64>>,
    /// Whether the job has started.
    pub(crate) begun: bool,
    /// The number of the latest request.
    pub(crate) newest: Arc<AtomicU64>,
}

/// The cells of rows for one range and one number of columns.
#[derive(Debug, Default)]
pub(crate) struct RowCache {
    pub(crate) range: Range<u64>,
    pub(crate) columns: usize,
    pub(crate) slots: FxHashMap<ThreadId, Rc<[Slot]>>,
    pub(crate) contexts: FxHashMap<ThreadId, Rc<[Option<ContextId>]>>,
}

impl RowCache {
    /// Clears the cache if it is for another range or width.
    pub(crate) fn keep_for(&mut self, range: &Range<u64>, columns: usize) {
        if self.range != *range || self.columns != columns {
            *self = RowCache {
                range: range.clone(),
                columns,
                ..RowCache::default()
            };
        }
    }
}

/// A box of threads and time.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TimeBox {
    /// Rows of the timeline.
    pub rows: Range<usize>,
    /// In nanoseconds, at borders of columns.
    pub time: Range<u64>,
}
