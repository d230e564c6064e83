//! Moves the cursor, the range and the selection on the timeline.

use experiment::ids::Nanos;
use report::timeline::column;

use super::keys::{Action, Motion};
use crate::state::app::App;
use crate::state::timeline::state::{Drag, Grouping, Line, SHORTEST, SecondLine};

impl App {
    pub(crate) fn select_thread(&mut self, row: usize) {
        self.timeline.row = row;
        self.settle_timeline();
    }

    pub(crate) fn move_on_timeline(&mut self, motion: Motion) {
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
                let middle = |at: usize| {
                    let part = column(&self.timeline.range, columns, at);
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

    /// Moves the cursor, and the range so that it contains the cursor.
    fn move_cursor(&mut self, time: u64) {
        let state = &mut self.timeline;
        state.time = time.min(state.end - 1);
        if !state.range.contains(&state.time) {
            let length = state.length();
            let start = if state.time < state.range.start {
                state.time.saturating_sub(length / 10)
            } else {
                (state.time + length / 10 + 1).saturating_sub(length)
            };
            state.show(start, length);
        }
        self.settle_timeline();
    }

    pub(crate) fn on_timeline(&mut self, action: Action) {
        match action {
            Action::ZoomIn => self.zoom(self.timeline.time, true),
            Action::ZoomOut => self.zoom(self.timeline.time, false),
            Action::Whole => self.timeline.show(0, u64::MAX),
            Action::Pan(later) => {
                let state = &mut self.timeline;
                let (length, half) = (state.length(), state.length() / 2);
                let start = if later {
                    state.range.start + half
                } else {
                    state.range.start.saturating_sub(half)
                };
                state.show(start, length);
                state.time = state.time.clamp(state.range.start, state.range.end - 1);
            }
            Action::Step(forward) => self.step(forward),
            Action::SecondLine => {
                let (line, words) = match self.timeline.second {
                    SecondLine::Share => (
                        SecondLine::Tasks,
                        "the tasks and nested regions of each thread",
                    ),
                    SecondLine::Tasks => (
                        SecondLine::Mutexes,
                        "the mutexes that each thread holds for a millisecond or longer",
                    ),
                    SecondLine::Mutexes => {
                        (SecondLine::Cpu, "the number of the CPU, as samples tell it")
                    }
                    SecondLine::Cpu => (SecondLine::Hidden, "states alone"),
                    SecondLine::Hidden => (SecondLine::Share, "the part of the time on a CPU"),
                };
                self.timeline.second = line;
                self.tell(words);
            }
            Action::Group => self.group(),
            Action::Instance => self.select_next_instance(),
            Action::Box => {
                let here = (self.timeline.row, self.timeline.time);
                self.timeline.anchor = match self.timeline.anchor {
                    Some(_) => None,
                    None => Some(here),
                };
                self.tell(match self.timeline.anchor {
                    Some(_) => "a box begins here: move, then f filters by it, Enter zooms, b ends",
                    None => "no box",
                });
            }
            _ => {}
        }
        self.settle_timeline();
    }

    /// Halves or doubles the range around a moment, which stays in its column.
    fn zoom(&mut self, around: u64, closer: bool) {
        let state = &mut self.timeline;
        let old = state.length();
        let new = if closer {
            (old / 2).max(SHORTEST)
        } else {
            old.saturating_mul(2)
        }
        .min(state.end);
        let before = u128::from(around.saturating_sub(state.range.start));
        let left = (before * u128::from(new) / u128::from(old)) as u64;
        state.show(around.saturating_sub(left), new);
        state.drag = None;
        self.settle_timeline();
    }

    /// Changes the grouping of rows; the selected thread stays selected.
    fn group(&mut self) {
        let (grouping, words) = match self.timeline.grouping {
            Grouping::Process => {
                let time = self.timeline.time;
                let words = format!("by team, as they are at {:.6} s", time as f64 / 1e9);
                (Grouping::Team(time), words)
            }
            Grouping::Team(_) => (Grouping::Pool, "by pool".to_owned()),
            Grouping::Pool => (Grouping::Process, "by process".to_owned()),
        };
        self.timeline.grouping = grouping;
        self.reorder();
        self.tell(words);
    }

    pub(crate) fn zoom_to_interval(&mut self) {
        if let Some(part) = self.selected_box() {
            self.leave();
            self.timeline
                .show(part.time.start, part.time.end - part.time.start);
            self.timeline.anchor = None;
            self.settle_timeline();
            return;
        }
        let Some(interval) = self.at_cursor().and_then(|at_cursor| at_cursor.interval) else {
            self.tell("no interval is listed here: it is shorter than what is kept apart");
            return;
        };
        self.leave();
        let margin = (interval.length.0 / 20).max(1);
        let start = interval.start.0.saturating_sub(margin);
        self.timeline.show(start, interval.length.0 + 2 * margin);
        self.settle_timeline();
    }

    /// Moves to the nearest sample or border of an interval after (or before) the cursor.
    fn step(&mut self, forward: bool) {
        let Some(&thread) = self.threads().get(self.timeline.row) else {
            return;
        };
        let time = self.timeline.time;
        let border = self
            .experiments
            .timeline()
            .border(thread, Nanos(time), forward);
        let samples = self.timeline.window.of(thread);
        let sample = if forward {
            samples.get(samples.partition_point(|sample| sample.time.0 <= time))
        } else {
            let at = samples.partition_point(|sample| sample.time.0 < time);
            at.checked_sub(1).and_then(|at| samples.get(at))
        };
        let both = [
            border.map(|border| border.0),
            sample.map(|sample| sample.time.0),
        ];
        let both = both.into_iter().flatten();
        let next = if forward { both.min() } else { both.max() };
        match next {
            Some(next) => self.move_cursor(next),
            None if self.lacks_samples() => self.tell("samples are still being read"),
            None => self.tell(if forward {
                "there is nothing later of this thread"
            } else {
                "there is nothing earlier of this thread"
            }),
        }
    }

    /// The wheel scrolls the bands if the pointer is on them and some are hidden. Else it zooms
    /// around the moment under the pointer.
    pub(crate) fn wheel_on_timeline(&mut self, (column, line): (u16, u16), closer: bool) {
        let bands = self.timeline_parts().bands;
        if bands.contains((column, line).into()) && self.last_lane() > 0 {
            let lane = self.timeline.lane;
            self.timeline.lane = if closer {
                lane.saturating_sub(1)
            } else {
                lane + 1
            };
            return self.settle_timeline();
        }
        let around = self.time_at(column).unwrap_or(self.timeline.time);
        self.zoom(around, closer);
    }

    /// The moment under a column of the screen.
    fn time_at(&self, x: u16) -> Option<u64> {
        let parts = self.timeline_parts();
        let at = x.checked_sub(parts.rows.x + parts.label)?;
        let columns = parts.columns();
        if usize::from(at) >= columns {
            return None;
        }
        let part = column(&self.timeline.range, columns, usize::from(at));
        Some(part.start + (part.end - part.start) / 2)
    }

    /// A click selects a moment, a thread or a region instance; a drag moves the range.
    pub(crate) fn press_on_timeline(&mut self, column: u16, line: u16) {
        let parts = self.timeline_parts();
        let rows = parts.rows;
        if parts.bands.contains((column, line).into()) {
            return match self.time_at(column) {
                Some(time) => self.select_instance_at(time, line - parts.bands.y),
                None => self.turn_lanes(),
            };
        }
        if rows.contains((column, line).into()) {
            let above = self.lines_in_sight().into_iter().rev();
            let mut above = above.skip_while(|&(y, _)| y > line - rows.y);
            if let Some((_, Line::Thread(row))) = above.next() {
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

    pub(crate) fn drag_on_timeline(&mut self, column: u16) {
        let columns = self.timeline_parts().columns().max(1) as u64;
        let state = &mut self.timeline;
        let Some(drag) = state.drag.clone() else {
            return;
        };
        let length = drag.range.end - drag.range.start;
        let moved = u64::from(column.abs_diff(drag.column)) * length / columns;
        let start = if column > drag.column {
            drag.range.start.saturating_sub(moved)
        } else {
            drag.range.start + moved
        };
        state.show(start, length);
        self.settle_timeline();
    }

    /// Selects the instance after the selected one among those at the cursor's time: the thread's
    /// own, innermost first, then all others.
    pub(crate) fn select_next_instance(&mut self) {
        let mut around = self
            .at_cursor()
            .map_or_else(Vec::new, |at_cursor| at_cursor.bands);
        around.reverse();
        for other in self.experiments.timeline().regions().at(self.timeline.time) {
            if !around.contains(other) {
                around.push(*other);
            }
        }
        let now = self.selected_instance().copied();
        let at = now.and_then(|now| around.iter().position(|band| *band == now));
        self.timeline.selected_instance = around.get(at.map_or(0, |at| at + 1)).copied();
        self.show_selected_instance();
        match self.timeline.selected_instance {
            Some(band) => self.tell(format!("selected: {}", self.instance_of(&band))),
            None if around.is_empty() => self.tell("no instance here is long enough to be listed"),
            None => self.tell("no instance is selected"),
        }
    }

    /// Scrolls to the lane of the selected region instance.
    fn show_selected_instance(&mut self) {
        let room = self.timeline_parts().bands.height;
        let Some(band) = self.timeline.selected_instance.filter(|band| !band.is_task) else {
            return;
        };
        let first = (band.lane + 1).saturating_sub(room);
        self.timeline.lane = self.timeline.lane.clamp(first, band.lane.max(first));
    }

    /// Scrolls to the lanes below those in sight; after the last ones, to the first.
    pub(crate) fn turn_lanes(&mut self) {
        let (lane, last) = (self.timeline.lane, self.last_lane());
        let room = self.timeline_parts().bands.height.max(1);
        self.timeline.lane = if lane < last { lane + room } else { 0 };
        self.settle_timeline();
    }

    /// Selects the region instance at a time and a line of the bands.
    pub(crate) fn select_instance_at(&mut self, time: u64, line: u16) {
        let lane = self.timeline.lane + line;
        let bands = self.experiments.timeline().regions().at(time);
        let band = bands.into_iter().find(|band| band.lane == lane).copied();
        self.timeline.time = time;
        self.timeline.selected_instance = band;
        if let Some(band) = band {
            self.tell(format!("selected: {}", self.instance_of(&band)));
        }
        self.settle_timeline();
    }
}
