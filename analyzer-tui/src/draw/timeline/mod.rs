//! Draws the timeline: a row for each thread, a column for each interval of time.

mod bands;
mod detail;
mod rows;

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::style::{Modifier, Style};
use report::lost;
use report::timeline::{Activity, Family, Look};

use super::theme::Theme;
use super::{from, put};
use crate::axis::{Tick, ticks};
use crate::layout::TimelineParts;
use crate::state::app::App;
use crate::state::timeline::state::{Line, SecondLine};
use crate::text_fit::{duration, fit, width};

/// The title: the range in sight and the cursor's time.
pub(super) fn title(app: &App) -> String {
    let range = &app.timeline.range;
    let columns = app.timeline_parts().columns().max(1) as u64;
    let step = (range.end - range.start) / columns;
    format!(
        "{} to {} s, {} a column, cursor at {} s",
        seconds(range.start, step),
        seconds(range.end, step),
        duration(step),
        seconds(app.timeline.time, step.min(1_000)),
    )
}

/// A time in seconds, with the decimals that steps of this many nanoseconds need.
fn seconds(time: u64, step: u64) -> String {
    let decimals = match step {
        0..10_000 => 6,
        10_000..10_000_000 => 4,
        _ => 3,
    };
    format!("{:.decimals$}", time as f64 / 1e9)
}

/// Draws the timeline.
pub(super) fn draw(app: &App, theme: &Theme, cells: &mut Buffer) {
    let parts = app.timeline_parts();
    axis(app, theme, &parts, cells);
    let has_losses = losses(app, theme, &parts, cells);
    bands::marks(app, theme, &parts, cells);
    bands::regions(app, theme, &parts, cells);
    let mut used = Used {
        solid: [false; Activity::COUNT],
        pale: false,
        hatched: false,
    };
    for (y, line) in app.lines_in_sight() {
        let area = Rect::new(parts.rows.x, parts.rows.y + y, parts.rows.width, 1);
        match line {
            Line::Group(group) => {
                put(
                    cells,
                    area,
                    &fit(&group.label, usize::from(area.width)),
                    theme.strong(),
                );
            }
            Line::Thread(row) => {
                let below = parts.rows.bottom() - area.y;
                let height = (app.lines_per_thread() as u16).min(below);
                thread(app, theme, row, Rect { height, ..area }, &mut used, cells);
            }
        }
    }
    selected_box(app, &parts, cells);
    cursor(app, &parts, cells);
    legend(app, theme, parts.legend, (&used, has_losses), cells);
    detail::draw(app, theme, parts.detail, cells);
}

/// The states that are drawn, and whether some of their time is.
struct Used {
    solid: [bool; Activity::COUNT],
    pale: bool,
    hatched: bool,
}

/// Draws a thread's label, its states, and its second line if there is room. Adds its states to
/// `used`.
fn thread(app: &App, theme: &Theme, row: usize, area: Rect, used: &mut Used, cells: &mut Buffer) {
    let line = Rect { height: 1, ..area };
    let parts = app.timeline_parts();
    let thread = app.threads()[row];
    let width = usize::from(parts.label.saturating_sub(1));
    let label = fit(&app.thread_label(thread), width);
    let style = if row == app.timeline.row {
        theme.selected()
    } else {
        Style::new()
    };
    let room = Rect {
        width: width as u16,
        ..line
    };
    put(cells, room, &format!("{label:<width$}"), style);
    let slots = app.slots(thread);
    for share in slots.iter().flat_map(|slot| slot.shares()) {
        // What is less cannot be seen.
        if share.part < 1.0 / 16.0 {
            continue;
        }
        match share.look {
            Look::Hatched => used.hatched = true,
            look => {
                used.solid[share.activity.number()] = true;
                used.pale |= look == Look::Pale;
            }
        }
    }
    let lines = app.lines_of_states() as u16;
    let states = Rect {
        height: lines.min(area.height),
        ..from(area, parts.label)
    };
    rows::states(&slots, theme, states, cells);
    let below = Rect {
        y: line.y + lines,
        ..line
    };
    if below.y >= area.bottom() {
        return;
    }
    let time_columns = from(below, parts.label);
    let words = match app.timeline.second {
        SecondLine::Hidden => return,
        SecondLine::Share => {
            rows::scheduling(&slots, theme, time_columns, cells);
            "on CPU"
        }
        SecondLine::Cpu => {
            rows::cpus(&slots, theme, time_columns, cells);
            "CPU number"
        }
        SecondLine::Tasks => {
            bands::tasks(app, theme, thread, time_columns, cells);
            "tasks"
        }
        SecondLine::Mutexes => {
            bands::holds(app, theme, thread, time_columns, cells);
            "holds"
        }
    };
    let room = Rect {
        width: parts.label.saturating_sub(3),
        ..from(below, 2)
    };
    put(cells, room, words, theme.faint());
}

fn axis(app: &App, theme: &Theme, parts: &TimelineParts, cells: &mut Buffer) {
    let (unit, ticks) = ticks(&app.timeline.range, parts.columns());
    put(cells, parts.axis, unit.name, theme.faint());
    for Tick { time, label } in ticks {
        let Some(column) = app.column_of(time) else {
            continue;
        };
        let mark = from(parts.axis, parts.label + column as u16);
        let whole = format!("┆{label}");
        let fits = width(&whole) <= usize::from(mark.width);
        put(cells, mark, if fits { &whole } else { "┆" }, theme.faint());
    }
}

/// The sign of columns in which something was lost.
const LOST: &str = "?";

/// Marks the times at which something was lost on the axis. Returns whether there are any.
fn losses(app: &App, theme: &Theme, parts: &TimelineParts, cells: &mut Buffer) -> bool {
    let header = &app.experiments.all().experiment.header;
    let losses = lost::within(header, &app.timeline.range);
    let line = from(parts.axis, parts.label);
    for stretch in losses.iter().flat_map(|loss| loss.stretches.iter()) {
        for column in bands::columns(app, stretch.from_ns..stretch.to_ns, line.width) {
            let mark = Rect::new(line.x + column, line.y, 1, 1).intersection(parts.axis);
            // Digits of a time are not overwritten.
            if !mark.is_empty() && cells[(mark.x, mark.y)].symbol() == " " {
                put(cells, mark, LOST, theme.warning());
            }
        }
    }
    !losses.is_empty()
}

/// Marks the box that is selected.
fn selected_box(app: &App, parts: &TimelineParts, cells: &mut Buffer) {
    let Some(part) = app.selected_box() else {
        return;
    };
    let inside =
        |time: u64| app.column_of(time.clamp(app.timeline.range.start, app.timeline.range.end - 1));
    let (Some(first), Some(last)) = (inside(part.time.start), inside(part.time.end - 1)) else {
        return;
    };
    for (y, line) in app.lines_in_sight() {
        let Line::Thread(row) = line else {
            continue;
        };
        let start = parts.rows.x + parts.label + first as u16;
        let width = (last - first + 1) as u16;
        let height = app.lines_of_states() as u16;
        let area = Rect::new(start, parts.rows.y + y, width, height).intersection(parts.rows);
        if part.rows.contains(&row) {
            cells.set_style(area, Style::new().add_modifier(Modifier::REVERSED));
        }
    }
}

fn cursor(app: &App, parts: &TimelineParts, cells: &mut Buffer) {
    let Some(column) = app.column_of(app.timeline.time) else {
        return;
    };
    let x = parts.rows.x + parts.label + column as u16;
    let rows = app.lines_in_sight().into_iter();
    let mut own = rows.filter(|(_, line)| *line == Line::Thread(app.timeline.row));
    if let Some((y, _)) = own.next() {
        let top = parts.rows.y + y;
        for y in top..(top + app.lines_per_thread() as u16).min(parts.rows.bottom()) {
            if x < parts.rows.right() {
                let cell = Rect::new(x, y, 1, 1);
                cells.set_style(cell, Style::new().add_modifier(Modifier::REVERSED));
                if y == top {
                    cells[(x, y)].set_char('┃');
                }
            }
        }
    }
    if parts.axis.height > 0 && x < parts.axis.right() {
        let cell = Rect::new(x, parts.axis.y, 1, 1);
        // Digits of a time are not overwritten.
        match cells[(x, parts.axis.y)].symbol() {
            " " | "┆" | LOST => put(cells, cell, "▼", Style::new()),
            _ => cells.set_style(cell, Style::new().add_modifier(Modifier::REVERSED)),
        }
    }
}

fn legend(
    app: &App,
    theme: &Theme,
    area: Rect,
    (used, has_losses): (&Used, bool),
    cells: &mut Buffer,
) {
    let (mut x, mut y) = (0, 0);
    let mut word = |sign: &str, style: Style, words: &str| {
        let length = (sign.chars().count() + words.chars().count() + 3) as u16;
        if x + length > area.width + 2 {
            (x, y) = (0, y + 1);
        }
        if y < area.height {
            let line = Rect::new(area.x, area.y + y, area.width, 1);
            put(cells, from(line, x), sign, style);
            let after = x + sign.chars().count() as u16 + 1;
            put(cells, from(line, after), words, theme.faint());
        }
        x += length;
    };
    for activity in Activity::ALL {
        if used.solid[activity.number()] {
            let letter = activity.letter();
            word(
                &format!(" {letter}"),
                theme.activity(activity),
                activity.words(),
            );
        }
    }
    if used.pale {
        word("b", theme.text_colour(Family::Barrier), "off CPUs");
    }
    if used.hatched {
        word(rows::HATCHED, theme.faint(), "work without a CPU");
    }
    match app.timeline.second {
        SecondLine::Share => {
            word("▄", theme.faint(), "on a CPU");
            word("!", theme.preempted(), "switched out at work");
        }
        SecondLine::Tasks => {
            word("├┤", theme.faint(), "an instance");
            word("╌", theme.faint(), "several short ones");
        }
        SecondLine::Mutexes => word("├┤", theme.faint(), "a mutex held"),
        SecondLine::Cpu | SecondLine::Hidden => {}
    }
    if has_losses {
        word(LOST, theme.warning(), "something was lost");
    }
}
