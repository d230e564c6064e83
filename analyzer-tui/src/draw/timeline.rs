//! The timeline: a row a thread, a column a slice of time.

use omp_model::ids::ContextId;
use omp_model::rows::SampleKind;
use omp_model::state::Presence;
use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::style::{Modifier, Style};

use super::theme::Theme;
use super::{fit, from, put};
use crate::activity::Activity;
use crate::app::App;
use crate::app::timeline::{MachineLine, Pointed};
use crate::args::Colours;
use crate::layout::TimelineParts;
use crate::timeline::{Place, Slot};

/// Eighths of a cell, for the part of a column's time that a thread was on a CPU.
const EIGHTHS: [char; 9] = [' ', '▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'];

/// The title's words: the range in sight.
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

/// Seconds with as many decimals as a step of so many nanoseconds needs.
fn seconds(time: u64, step: u64) -> String {
    let decimals = match step {
        0..10_000 => 6,
        10_000..10_000_000 => 4,
        _ => 3,
    };
    format!("{:.decimals$}", time as f64 / 1e9)
}

/// A duration in the unit that suits it.
pub(crate) fn duration(nanos: u64) -> String {
    match nanos {
        0..10_000 => format!("{:.1} us", nanos as f64 / 1e3),
        10_000..1_000_000 => format!("{:.0} us", nanos as f64 / 1e3),
        1_000_000..10_000_000 => format!("{:.2} ms", nanos as f64 / 1e6),
        10_000_000..1_000_000_000 => format!("{:.0} ms", nanos as f64 / 1e6),
        _ => format!("{:.3} s", nanos as f64 / 1e9),
    }
}

/// Draws the timeline.
pub(super) fn draw(app: &App, theme: &Theme, cells: &mut Buffer) {
    let parts = app.timeline_parts();
    axis(app, theme, &parts, cells);
    bands(app, theme, &parts, cells);
    let threads = app.threads();
    let lines = app.lines_per_thread();
    let mut used = [false; Activity::COUNT];
    let in_sight = threads.iter().enumerate().skip(app.timeline.top);
    for (at, (row, thread)) in in_sight.take(app.threads_in_sight()).enumerate() {
        let y = (at * lines) as u16;
        if y >= parts.rows.height {
            break;
        }
        let line = Rect::new(parts.rows.x, parts.rows.y + y, parts.rows.width, 1);
        let label = fit(&app.thread_label(*thread), usize::from(parts.label) - 1);
        let selected = row == app.timeline.row;
        let style = if selected {
            theme.selected()
        } else {
            Style::new()
        };
        let room = Rect {
            width: parts.label.saturating_sub(1),
            ..line
        };
        put(
            cells,
            room,
            &format!("{label:<width$}", width = usize::from(room.width)),
            style,
        );
        let slots = app.slots(*thread);
        for slot in &slots {
            if let Some(activity) = slot.main() {
                used[activity as usize] = true;
            }
        }
        states(&slots, theme, from(line, parts.label), cells);
        if lines > 1 && y + 1 < parts.rows.height {
            let below = Rect {
                y: line.y + 1,
                ..line
            };
            let place = from(below, parts.label);
            if app.timeline.machine_line == MachineLine::Cpu {
                put(cells, from(below, 2), "CPU number", theme.faint());
                cpus(&slots, theme, place, cells);
            } else {
                put(cells, from(below, 2), "on CPU", theme.faint());
                machine(&slots, theme, place, cells);
            }
        }
    }
    cursor(app, &parts, cells);
    legend(theme, parts.legend, &used, cells);
    detail(app, theme, parts.detail, cells);
}

fn axis(app: &App, theme: &Theme, parts: &TimelineParts, cells: &mut Buffer) {
    const APART: usize = 14;
    let columns = parts.columns();
    let range = &app.timeline.range;
    let step = (range.end - range.start) / columns.max(1) as u64;
    put(cells, parts.axis, "seconds", theme.faint());
    for at in (0..columns).step_by(APART) {
        if at + APART > columns && at > 0 {
            break;
        }
        let time = crate::timeline::column(range, columns, at).start;
        let place = from(parts.axis, parts.label + at as u16);
        put(
            cells,
            place,
            &format!("┆{}", seconds(time, step)),
            theme.faint(),
        );
    }
}

/// Region instances, outermost wins: a name where there is room, a line where not.
fn bands(app: &App, theme: &Theme, parts: &TimelineParts, cells: &mut Buffer) {
    if parts.bands.height == 0 {
        return;
    }
    put(cells, parts.bands, "regions", theme.faint());
    let columns = parts.columns();
    let range = &app.timeline.range;
    let contexts = &app.recording.experiment.tables.contexts;
    let is_outermost = |context: ContextId| {
        let row = contexts.get(context.0);
        row.is_none_or(|row| row.parent == ContextId::ROOT)
    };
    let directives = app.recording.directives();
    let place = from(parts.bands, parts.label);
    let timeline = app.recording.timeline();
    let spans = timeline.spans(range.clone());
    for (number, span) in spans.filter(|span| is_outermost(span.context)).enumerate() {
        let at = |time: u64| {
            let part = u128::from(time.clamp(range.start, range.end) - range.start);
            (part * columns as u128 / u128::from(range.end - range.start)) as u16
        };
        let start = at(span.start.0);
        let end = at(span.start.0 + span.length.0)
            .max(start + 1)
            .min(columns as u16);
        if start >= end {
            continue;
        }
        let width = usize::from(end - start);
        let text = match width {
            0..3 => "─".repeat(width),
            _ => {
                let name = fit(directives.region_name(span.context), width - 2);
                format!("├{name:─<fill$}┤", fill = width - 2)
            }
        };
        let style = if number % 2 == 0 {
            Style::new()
        } else {
            theme.faint()
        };
        let room = from(place, start);
        put(
            cells,
            Rect {
                width: end - start,
                ..room
            },
            &text,
            style,
        );
    }
}

fn states(slots: &[Slot], theme: &Theme, place: Rect, cells: &mut Buffer) {
    for (at, slot) in slots.iter().enumerate() {
        let Some(activity) = slot.main() else {
            continue;
        };
        let mut style = theme.activity(activity);
        // Where no event and no sample says when in its second a state was, only how long.
        if slot.place == Place::Shared {
            style = style.add_modifier(Modifier::DIM);
        }
        let quiet = matches!(activity, Activity::Serial | Activity::Work | Activity::Idle);
        let letter = match theme.colours {
            Colours::None => activity.letter(),
            _ if quiet => ' ',
            _ => activity.letter(),
        };
        put(
            cells,
            from(place, at as u16),
            letter.encode_utf8(&mut [0; 4]),
            style,
        );
    }
}

/// Where the kernel had the thread: the part of the time on a CPU as a bar, `!` where it wanted to
/// run and was switched out.
fn machine(slots: &[Slot], theme: &Theme, place: Rect, cells: &mut Buffer) {
    for (at, slot) in slots.iter().enumerate() {
        let Some(presence) = slot.main_presence() else {
            continue;
        };
        let (letter, style) = match presence {
            Presence::Preempted => ('!', theme.preempted()),
            _ => {
                let eighths = (slot.running() * 8.0).round() as usize;
                (EIGHTHS[eighths.min(8)], theme.faint())
            }
        };
        put(
            cells,
            from(place, at as u16),
            letter.encode_utf8(&mut [0; 4]),
            style,
        );
    }
}

/// The last digit of the CPU's number, in base 36, where a sample tells it.
fn cpus(slots: &[Slot], theme: &Theme, place: Rect, cells: &mut Buffer) {
    for (at, slot) in slots.iter().enumerate() {
        let digit = slot
            .cpu
            .and_then(|cpu| char::from_digit(u32::from(cpu) % 36, 36));
        if let Some(digit) = digit {
            put(
                cells,
                from(place, at as u16),
                digit.encode_utf8(&mut [0; 4]),
                theme.faint(),
            );
        }
    }
}

fn cursor(app: &App, parts: &TimelineParts, cells: &mut Buffer) {
    let Some(column) = app.column_of(app.timeline.time) else {
        return;
    };
    let x = parts.rows.x + parts.label + column as u16;
    let lines = app.lines_per_thread() as u16;
    let row = app.timeline.row.saturating_sub(app.timeline.top) as u16;
    for line in 0..lines {
        let y = parts.rows.y + row * lines + line;
        if y < parts.rows.bottom() && x < parts.rows.right() {
            let place = Rect::new(x, y, 1, 1);
            cells.set_style(place, Style::new().add_modifier(Modifier::REVERSED));
            if line == 0 {
                cells[(x, y)].set_char('┃');
            }
        }
    }
    if parts.axis.height > 0 {
        put(cells, Rect::new(x, parts.axis.y, 1, 1), "▼", Style::new());
    }
}

fn legend(theme: &Theme, area: Rect, used: &[bool; Activity::COUNT], cells: &mut Buffer) {
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
        if used[activity as usize] {
            let letter = activity.letter();
            word(
                &format!(" {letter}"),
                theme.activity(activity),
                activity.words(),
            );
        }
    }
    word("▄", theme.faint(), "on a CPU");
    word("!", theme.preempted(), "switched out at work");
}

fn detail(app: &App, theme: &Theme, area: Rect, cells: &mut Buffer) {
    let Some(pointed) = app.pointed() else {
        return;
    };
    let beside = area.x > 0;
    let area = match beside {
        true => {
            for y in area.top()..area.bottom() {
                put(cells, Rect::new(area.x, y, 1, 1), "│", theme.faint());
            }
            from(area, 2)
        }
        false => area,
    };
    let mut lines = facts(app, &pointed)
        .into_iter()
        .map(|text| (text, theme.strong()))
        .collect::<Vec<_>>();
    lines.extend(stack(app, &pointed).into_iter().map(|name| {
        let tint = Activity::of_name(&name);
        let style = tint.map_or(Style::new(), |activity| theme.ink(activity.family()));
        (name, style)
    }));
    for (at, (text, style)) in lines.iter().take(usize::from(area.height)).enumerate() {
        let line = Rect::new(area.x, area.y + at as u16, area.width, 1);
        let last = at + 1 == usize::from(area.height) && lines.len() > at + 1;
        let text = match last {
            true => format!("… {} more", lines.len() - at),
            false => fit(text, usize::from(area.width)),
        };
        put(cells, line, &text, *style);
    }
}

/// What is known of the moment under the cursor.
pub(crate) fn facts(app: &App, pointed: &Pointed) -> Vec<String> {
    let timeline = app.recording.timeline();
    let mut lines = Vec::new();
    let presence = |presence| match presence {
        Presence::Running => "on a CPU",
        Presence::Preempted => "switched out while it wanted to run",
        Presence::Blocked => "asleep",
    };
    match &pointed.interval {
        Some(row) => lines.push(format!(
            "{} for {} from {:.6} s, {}",
            timeline.activity(row.tag).words(),
            duration(row.length.0),
            row.start.seconds(),
            presence(row.presence)
        )),
        None if timeline.life(pointed.thread).contains(&app.timeline.time) => {
            lines.push("intervals too short to be listed".to_owned());
        }
        None => lines.push("the thread does not live here".to_owned()),
    }
    match &pointed.sample {
        Some(sample) => {
            let kind = match sample.kind {
                SampleKind::User => "on",
                SampleKind::Kernel => "in the kernel on",
                SampleKind::Preempted => "leaving, at work,",
                SampleKind::Blocked => "leaving to wait,",
            };
            lines.push(format!(
                "sample at {:.6} s {kind} CPU {}: {}",
                sample.time.seconds(),
                sample.cpu,
                app.refined(sample).words()
            ));
        }
        None if app.timeline.window.skipped => {
            lines.push("too many samples in sight to tell one: zoom in".to_owned());
        }
        None if pointed.stack.is_some() => {
            lines.push("no sample here: the place of the construct".to_owned());
        }
        None => lines.push("no sample in this column: . goes to the next".to_owned()),
    }
    lines
}

/// The callstack under the cursor, leaf first.
pub(crate) fn stack(app: &App, pointed: &Pointed) -> Vec<String> {
    let Some((path, _)) = pointed.stack else {
        return Vec::new();
    };
    let moments = app.recording.moments(app.settings.mode);
    let names = app.recording.names();
    let frames = moments.walk(path);
    frames
        .map(|row| {
            let places = &app.recording.symbols.frame(row.frame.frame).places;
            let line = places
                .last()
                .map_or_else(String::new, |place| format!(":{}", place.place.line));
            format!("{}{line}", names.name(row.frame.callee))
        })
        .collect()
}
