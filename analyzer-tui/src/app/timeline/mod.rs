//! Where the user is on the timeline.

mod instances;
mod moves;
mod order;
mod part;
mod picture;
mod samples;

use std::cell::{OnceCell, RefCell};
use std::ops::Range;

use omp_model::ids::{Nanos, ThreadId};
use omp_model::profile::{PathId, Shown, ViewMode};
use omp_model::rows::{Interval, Sample};
use omp_model::views::threads::kind_name;

use super::App;
use crate::layout::{self, TimelineParts};
use crate::recording::Recording;
use report::timeline::Activity;
use report::timeline::{Band, Window};

pub use order::{Group, Grouping, Order};
pub use part::Selection;
use picture::Picture;
use samples::Wanted;
pub use samples::{Unpacked, Unpacking};

/// The shortest range that can be zoomed to: samples are kept to a microsecond.
const SHORTEST: u64 = 20_000;

/// Where the user is on the timeline.
#[derive(Debug)]
pub struct TimelineState {
    /// The time in sight, in nanoseconds.
    pub range: Range<u64>,
    /// The moment of the cursor.
    pub time: u64,
    /// The selected thread, among [`App::threads`].
    pub row: usize,
    /// The first thread in sight.
    pub top: usize,
    /// The first lane of region instances in sight.
    pub lane: u16,
    /// What each thread's second line shows.
    pub second: SecondLine,
    /// By what threads stand together.
    pub grouping: Grouping,
    /// Where the box that is selected began: a row and a moment. It ends at the cursor.
    pub anchor: Option<(usize, u64)>,
    /// The instance that was selected last.
    pub(super) picked: Option<Band>,
    /// The samples of the time in sight, or of what was in sight before while they are unpacked.
    pub window: Window,
    wanted: Wanted,
    picture: RefCell<Picture>,
    end: u64,
    drag: Option<Drag>,
    order: OnceCell<Order>,
}

/// What a thread's second line shows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SecondLine {
    /// The part of a column's time on a CPU.
    Share,
    /// The CPU's number, as samples tell it.
    Cpu,
    /// The tasks and nested regions that it was in.
    Tasks,
    /// There is none.
    Hidden,
}

/// A line of the rows in sight.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Line<'a> {
    /// What the threads below have in common.
    Group(&'a Group),
    /// A thread, by its row; its second line follows.
    Thread(usize),
}

/// A drag by the mouse: where it began, and the range then.
#[derive(Clone, Debug)]
struct Drag {
    column: u16,
    range: Range<u64>,
}

/// What the cursor points at.
#[derive(Clone, Debug)]
pub struct Pointed {
    /// The thread.
    pub thread: ThreadId,
    /// The listed interval, if the moment lies in one.
    pub interval: Option<Interval>,
    /// The sample nearest to the moment in the same column or interval.
    pub sample: Option<Sample>,
    /// The display stack in the mode in force, and what the thread did.
    pub stack: Option<(PathId, Shown)>,
    /// The listed region instances there, outermost first, then the pieces of tasks that the
    /// thread was running, innermost last.
    pub bands: Vec<Band>,
}

impl TimelineState {
    pub(super) fn new(recording: &Recording) -> TimelineState {
        let end = recording
            .experiment
            .duration()
            .max(recording.experiment.last);
        let end = end.0.max(SHORTEST);
        let first = recording.experiment.tables.threads.first();
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
            picked: None,
            window: Window::default(),
            wanted: Wanted::default(),
            picture: RefCell::default(),
            end,
            drag: None,
            order: OnceCell::new(),
        }
    }

    /// The recording has grown.
    pub(super) fn grow(&mut self, recording: &Recording) {
        let old = self.end;
        let new = TimelineState::new(recording);
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

    /// Shows a range, shifted or cut so that it lies within the recording.
    fn show(&mut self, start: u64, length: u64) {
        let length = length.clamp(SHORTEST.min(self.end), self.end);
        let start = start.min(self.end - length);
        self.range = start..start + length;
    }

    fn length(&self) -> u64 {
        self.range.end - self.range.start
    }
}

impl App {
    /// The threads in the order of their rows, without those that a filter leaves no time of.
    pub fn threads(&self) -> &[ThreadId] {
        &self.order().threads
    }

    /// A thread's label: its process's number where there are several, its own, its kind.
    pub fn thread_label(&self, thread: ThreadId) -> String {
        let tables = &self.recording.experiment.tables;
        let Some(row) = tables.threads.get(thread.index()) else {
            return String::new();
        };
        let own = format!("{} {}", row.tid, kind_name(row.kind));
        match tables.processes.get(row.process.index()) {
            _ if self.is_compared() => format!("({}) {own}", self.origin(thread)),
            Some(process)
                if tables.processes.len() > 1 && self.timeline.grouping != Grouping::Process =>
            {
                format!("{}/{} {}", process.pid, row.tid, kind_name(row.kind))
            }
            _ => own,
        }
    }

    /// The experiment whose region instances are drawn, if not all are: of experiments beside each
    /// other those of the selected thread's.
    pub fn banded(&self) -> Option<u32> {
        let thread = self.threads().get(self.timeline.row)?;
        self.is_compared().then(|| self.origin(*thread))
    }

    pub(super) fn thread_names(&self) -> Vec<String> {
        let threads = self.threads();
        threads
            .iter()
            .map(|thread| self.thread_label(*thread))
            .collect()
    }

    /// The parts of the timeline's body.
    pub fn timeline_parts(&self) -> TimelineParts {
        let bands = self.recording.timeline().regions().lanes();
        let number = if self.is_compared() { 4 } else { 0 };
        layout::timeline(self.parts().body, bands, number)
    }

    /// Lines that a thread takes.
    pub fn lines_per_thread(&self) -> usize {
        1 + usize::from(self.timeline.second != SecondLine::Hidden)
    }

    /// Threads that have room, if no group begins among them.
    pub fn threads_in_sight(&self) -> usize {
        (usize::from(self.timeline_parts().rows.height) / self.lines_per_thread()).max(1)
    }

    /// The lines in sight, each with its distance from the first one. The first thread's group
    /// is told even if it begins further up.
    pub fn lines_in_sight(&self) -> Vec<(u16, Line<'_>)> {
        let height = usize::from(self.timeline_parts().rows.height);
        let (order, top) = (self.order(), self.timeline.top);
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

    /// Lines that rows take if the first of them is the first in sight.
    fn lines_of(&self, rows: Range<usize>) -> usize {
        let order = self.order();
        let groups = match order.groups.is_empty() {
            true => 0,
            false => 1 + order.beginnings(rows.start + 1..rows.end),
        };
        rows.len() * self.lines_per_thread() + groups
    }

    /// What a sample shows its thread to do: the same in every mode.
    pub fn refined(&self, sample: &Sample) -> Activity {
        let moments = self.recording.known_moments(ViewMode::User);
        self.recording.timeline().refined(moments, sample)
    }

    /// The column that a moment is drawn in.
    pub fn column_of(&self, time: u64) -> Option<usize> {
        let (range, columns) = (&self.timeline.range, self.timeline_parts().columns());
        if !range.contains(&time) || columns == 0 {
            return None;
        }
        let part = u128::from(time - range.start) * columns as u128;
        let at = (part / u128::from(range.end - range.start)) as usize;
        // A column begins at a whole nanosecond, rounded down.
        let next = report::timeline::column(range, columns, at + 1).start;
        Some(if at + 1 < columns && time >= next {
            at + 1
        } else {
            at
        })
    }

    /// The function or construct that the thread at the cursor was in: the innermost one on the
    /// callstack, without what only tells how it waited.
    pub(super) fn pointed_function(&self) -> Option<String> {
        let (path, _) = self.pointed()?.stack?;
        let moments = self.recording.known_moments(self.settings.mode)?;
        let names = self.recording.names();
        let mut frames = moments.walk(path).map(|row| names.name(row.frame.callee));
        frames.find(|name| Activity::of_name(name).is_none())
    }

    /// What the cursor points at.
    pub fn pointed(&self) -> Option<Pointed> {
        let thread = *self.threads().get(self.timeline.row)?;
        let timeline = self.recording.timeline();
        let (time, columns) = (self.timeline.time, self.timeline_parts().columns());
        let interval = timeline.interval(thread, Nanos(time)).copied();
        let column = self.column_of(time).map_or(time..time + 1, |at| {
            report::timeline::column(&self.timeline.range, columns, at)
        });
        let within = match &interval {
            Some(row) => row.start.0..row.start.0 + row.length.0,
            None => column,
        };
        let samples = self.timeline.window.of(thread);
        let start = samples.partition_point(|sample| sample.time.0 < within.start);
        let end =
            samples.partition_point(|sample| sample.time.0 < within.end.max(within.start + 1));
        let fits = |sample: &&Sample| interval.is_none_or(|row| row.tag == sample.tag);
        let near = samples[start..end.max(start)].iter().filter(fits);
        let sample = near
            .min_by_key(|sample| sample.time.0.abs_diff(time))
            .copied();
        let kind = timeline.kind_of(thread);
        let moments = self.recording.known_moments(self.settings.mode);
        let stack = moments.and_then(|moments| match (&sample, &interval) {
            (Some(sample), _) => moments.sample(sample.stack, sample.tag, kind),
            (None, Some(row)) => moments.construct(row.tag, kind),
            (None, None) => None,
        });
        let tasks = timeline.tasks(thread).map(|tasks| tasks.at(time));
        let regions = timeline.regions().at(time);
        let own = |band: &&&Band| {
            interval
                .as_ref()
                .is_some_and(|row| self.is_inside(thread, row, band))
        };
        let bands = regions.iter().filter(own).copied();
        let bands = bands.chain(tasks.into_iter().flatten()).copied().collect();
        Some(Pointed {
            thread,
            interval,
            sample,
            stack,
            bands,
        })
    }
}
