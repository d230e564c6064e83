//! Where the user is on the timeline.

use std::ops::Range;

use omp_model::ids::{Nanos, ThreadId};
use omp_model::profile::{PathId, Shown};
use omp_model::rows::{Interval, Sample};
use omp_model::tables::ThreadKind;
use omp_model::views::threads::kind_name;

use super::keys::{Action, Motion};
use super::{App, View};
use crate::activity::Activity;
use crate::layout::{self, TimelineParts};
use crate::recording::Recording;
use crate::timeline::{Slot, Window};

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
    /// What each thread's second line shows.
    pub machine_line: MachineLine,
    /// The samples of at least the time in sight.
    pub window: Window,
    end: u64,
    drag: Option<Drag>,
}

/// What a thread's second line shows of where the kernel had it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MachineLine {
    /// The part of a column's time on a CPU.
    Share,
    /// The CPU's number, as samples tell it.
    Cpu,
    /// There is none.
    Hidden,
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
}

impl TimelineState {
    pub(super) fn new(recording: &Recording) -> TimelineState {
        let end = recording
            .experiment
            .duration()
            .max(recording.experiment.last);
        let end = end.0.max(SHORTEST);
        TimelineState {
            range: 0..end,
            time: 0,
            row: 0,
            top: 0,
            machine_line: MachineLine::Share,
            window: Window::default(),
            end,
            drag: None,
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
    pub fn threads(&self) -> Vec<ThreadId> {
        let kept = self.data.kept_threads();
        let all = self.recording.timeline().threads.iter();
        let is_kept = |thread: &&ThreadId| kept.as_ref().is_none_or(|kept| kept.contains(thread));
        all.filter(is_kept).copied().collect()
    }

    /// A thread's label: its process's number where there are several, its own, its kind.
    pub fn thread_label(&self, thread: ThreadId) -> String {
        let tables = &self.recording.experiment.tables;
        let Some(row) = tables.threads.get(thread.index()) else {
            return String::new();
        };
        match tables.processes.get(row.process.index()) {
            Some(process) if tables.processes.len() > 1 => {
                format!("{}/{} {}", process.pid, row.tid, kind_name(row.kind))
            }
            _ => format!("{} {}", row.tid, kind_name(row.kind)),
        }
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
        let bands = !self.recording.experiment.region_spans.is_empty();
        layout::timeline(self.parts().body, bands)
    }

    /// Lines that a thread takes.
    pub fn lines_per_thread(&self) -> usize {
        1 + usize::from(self.timeline.machine_line != MachineLine::Hidden)
    }

    /// Threads that have room.
    pub fn threads_in_sight(&self) -> usize {
        (usize::from(self.timeline_parts().rows.height) / self.lines_per_thread()).max(1)
    }

    /// What a sample shows its thread to do.
    pub fn refined(&self, sample: &Sample) -> Activity {
        let moments = self.recording.moments(self.settings.mode);
        let kind = self.kind(sample.thread);
        let seen = moments.sample(sample.stack, sample.tag, kind);
        match self.recording.timeline().activity(sample.tag) {
            Activity::Unknown => Activity::Unknown,
            recorded => seen.map_or(recorded, |(_, shown)| Activity::of_shown(shown)),
        }
    }

    fn kind(&self, thread: ThreadId) -> ThreadKind {
        let threads = &self.recording.experiment.tables.threads;
        let row = threads.get(thread.index());
        row.map_or(ThreadKind::Outside, |row| row.kind)
    }

    /// A thread's row.
    pub fn slots(&self, thread: ThreadId) -> Vec<Slot> {
        let timeline = self.recording.timeline();
        let (state, columns) = (&self.timeline, self.timeline_parts().columns());
        let refine = |sample: &Sample| self.refined(sample);
        timeline.slots(thread, &state.range, columns, &state.window, refine)
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
        let next = crate::timeline::column(range, columns, at + 1).start;
        Some(if at + 1 < columns && time >= next {
            at + 1
        } else {
            at
        })
    }

    /// What the cursor points at.
    pub fn pointed(&self) -> Option<Pointed> {
        let thread = *self.threads().get(self.timeline.row)?;
        let timeline = self.recording.timeline();
        let (time, columns) = (self.timeline.time, self.timeline_parts().columns());
        let interval = timeline.interval(thread, Nanos(time)).copied();
        let column = self.column_of(time).map_or(time..time + 1, |at| {
            crate::timeline::column(&self.timeline.range, columns, at)
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
        let moments = self.recording.moments(self.settings.mode);
        let kind = self.kind(thread);
        let stack = match (&sample, &interval) {
            (Some(sample), _) => moments.sample(sample.stack, sample.tag, kind),
            (None, Some(row)) => moments.place(row.tag, kind),
            (None, None) => None,
        };
        Some(Pointed {
            thread,
            interval,
            sample,
            stack,
        })
    }

    pub(super) fn select_thread(&mut self, row: usize) {
        self.timeline.row = row;
        self.settle_timeline();
    }

    pub(super) fn move_on_timeline(&mut self, motion: Motion) {
        let page = self.threads_in_sight();
        let row = self.timeline.row;
        match motion {
            Motion::Up => self.select_thread(row.saturating_sub(1)),
            Motion::Down => self.select_thread(row + 1),
            Motion::PageUp => self.select_thread(row.saturating_sub(page)),
            Motion::PageDown => self.select_thread(row + page),
            Motion::First => self.select_thread(0),
            Motion::Last => self.select_thread(usize::MAX),
            Motion::Left | Motion::Right => {
                let columns = self.timeline_parts().columns().max(1);
                let at = self.column_of(self.timeline.time).unwrap_or(0);
                let step = (self.timeline.length() / columns as u64).max(1);
                let middle = |column: usize| {
                    let part = crate::timeline::column(&self.timeline.range, columns, column);
                    part.start + (part.end - part.start) / 2
                };
                let time = match motion {
                    Motion::Left if at > 0 => middle(at - 1),
                    Motion::Right if at + 1 < columns => middle(at + 1),
                    Motion::Left => self.timeline.time.saturating_sub(step),
                    _ => self.timeline.time + step,
                };
                self.move_cursor(time);
            }
        }
    }

    /// Moves the cursor, and the range if it would leave it.
    fn move_cursor(&mut self, time: u64) {
        let state = &mut self.timeline;
        state.time = time.min(state.end - 1);
        if !state.range.contains(&state.time) {
            let length = state.length();
            let start = match state.time < state.range.start {
                true => state.time.saturating_sub(length / 10),
                false => (state.time + length / 10 + 1).saturating_sub(length),
            };
            state.show(start, length);
        }
        self.settle_timeline();
    }

    pub(super) fn on_timeline(&mut self, action: Action) {
        match action {
            Action::ZoomIn => self.zoom(self.timeline.time, true),
            Action::ZoomOut => self.zoom(self.timeline.time, false),
            Action::Whole => self.timeline.show(0, u64::MAX),
            Action::Pan(later) => {
                let state = &mut self.timeline;
                let (length, half) = (state.length(), state.length() / 2);
                let start = match later {
                    true => state.range.start + half,
                    false => state.range.start.saturating_sub(half),
                };
                state.show(start, length);
                state.time = state.time.clamp(state.range.start, state.range.end - 1);
            }
            Action::Step(forward) => self.step(forward),
            Action::MachineLine => {
                let (line, words) = match self.timeline.machine_line {
                    MachineLine::Share => (
                        MachineLine::Cpu,
                        "the number of the CPU, as samples tell it",
                    ),
                    MachineLine::Cpu => (MachineLine::Hidden, "no line of the machine's"),
                    MachineLine::Hidden => (MachineLine::Share, "the part of the time on a CPU"),
                };
                self.timeline.machine_line = line;
                self.tell(words);
            }
            _ => {}
        }
        self.settle_timeline();
    }

    /// Halves or doubles the range around a moment, which stays where it is on the screen.
    fn zoom(&mut self, around: u64, closer: bool) {
        let state = &mut self.timeline;
        let old = state.length();
        let new = match closer {
            true => (old / 2).max(SHORTEST),
            false => old.saturating_mul(2),
        }
        .min(state.end);
        let before = u128::from(around.saturating_sub(state.range.start));
        let left = (before * u128::from(new) / u128::from(old)) as u64;
        state.show(around.saturating_sub(left), new);
        state.drag = None;
        self.settle_timeline();
    }

    pub(super) fn zoom_to_interval(&mut self) {
        let Some(interval) = self.pointed().and_then(|pointed| pointed.interval) else {
            self.tell("no interval is listed here: it is shorter than what is kept apart");
            return;
        };
        let margin = (interval.length.0 / 20).max(1);
        let start = interval.start.0.saturating_sub(margin);
        self.timeline.show(start, interval.length.0 + 2 * margin);
        self.settle_timeline();
    }

    /// To the nearest sample or border of an interval after (or before) the cursor.
    fn step(&mut self, forward: bool) {
        let Some(&thread) = self.threads().get(self.timeline.row) else {
            return;
        };
        let time = self.timeline.time;
        let border = self
            .recording
            .timeline()
            .border(thread, Nanos(time), forward);
        let samples = self.timeline.window.of(thread);
        let sample = match forward {
            true => samples.get(samples.partition_point(|sample| sample.time.0 <= time)),
            false => {
                let at = samples.partition_point(|sample| sample.time.0 < time);
                at.checked_sub(1).and_then(|at| samples.get(at))
            }
        };
        let both = [
            border.map(|border| border.0),
            sample.map(|sample| sample.time.0),
        ];
        let both = both.into_iter().flatten();
        let next = if forward { both.min() } else { both.max() };
        match next {
            Some(next) => self.move_cursor(next),
            None => self.tell(match forward {
                true => "there is nothing later of this thread",
                false => "there is nothing earlier of this thread",
            }),
        }
    }

    /// Keeps the selection on a thread and in sight, and the samples of the range unpacked.
    pub(super) fn settle_timeline(&mut self) {
        if self.view != View::Timeline {
            return;
        }
        let threads = self.threads().len();
        let height = self.threads_in_sight();
        let state = &mut self.timeline;
        state.row = state.row.min(threads.saturating_sub(1));
        state.top = state.top.min(state.row).min(threads.saturating_sub(height));
        if state.row >= state.top + height {
            state.top = state.row + 1 - height;
        }
        if !state.window.covers(&state.range) || state.window.skipped {
            // Some room on both sides, so that a step does not unpack it all again.
            let length = state.length();
            let wide = state.range.start.saturating_sub(length)..state.range.end + length;
            let timeline = self.recording.timeline();
            let window = timeline.window(&self.recording, wide);
            let range = self.timeline.range.clone();
            self.timeline.window = match window.skipped {
                true => timeline.window(&self.recording, range),
                false => window,
            };
        }
    }

    /// The wheel over the rows: zooms around the moment under the pointer.
    pub(super) fn wheel_on_timeline(&mut self, column: u16, closer: bool) {
        let around = self.time_at(column).unwrap_or(self.timeline.time);
        self.zoom(around, closer);
    }

    /// The moment under a column of the screen.
    fn time_at(&self, column: u16) -> Option<u64> {
        let parts = self.timeline_parts();
        let at = column.checked_sub(parts.rows.x + parts.label)?;
        let columns = parts.columns();
        if usize::from(at) >= columns {
            return None;
        }
        let part = crate::timeline::column(&self.timeline.range, columns, usize::from(at));
        Some(part.start + (part.end - part.start) / 2)
    }

    /// A click on the rows selects; a drag that begins there moves the range.
    pub(super) fn press_on_timeline(&mut self, column: u16, line: u16) {
        let parts = self.timeline_parts();
        let rows = parts.rows;
        if rows.contains((column, line).into()) {
            let row = usize::from(line - rows.y) / self.lines_per_thread() + self.timeline.top;
            if row < self.threads().len() {
                self.timeline.row = row;
            }
        }
        if let Some(time) = self.time_at(column) {
            self.timeline.time = time;
        }
        self.timeline.drag = Some(Drag {
            column,
            range: self.timeline.range.clone(),
        });
        self.settle_timeline();
    }

    pub(super) fn drag_on_timeline(&mut self, column: u16) {
        let columns = self.timeline_parts().columns().max(1) as u64;
        let state = &mut self.timeline;
        let Some(drag) = state.drag.clone() else {
            return;
        };
        let length = drag.range.end - drag.range.start;
        let moved = u64::from(column.abs_diff(drag.column)) * length / columns;
        let start = match column > drag.column {
            true => drag.range.start.saturating_sub(moved),
            false => drag.range.start + moved,
        };
        state.show(start, length);
        self.settle_timeline();
    }
}
