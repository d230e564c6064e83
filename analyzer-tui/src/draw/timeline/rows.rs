//! Draws the cells of a thread's row.

use experiment::state::Scheduling;
use omp_model::states::RefinedState;
use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::style::{Modifier, Style};
use report::timeline::{Activity, Look, Precision, Share, Slot};

use super::super::theme::Theme;
use report::text::colours::Colours;

/// Eighths of a cell, for the part of a column's time that a thread was on a CPU.
const EIGHTHS: [char; 9] = [' ', '▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'];

/// Time off CPUs in a state of work.
pub(super) const HATCHED: &str = "░";

/// Draws the thread's states as shares of the area's height, what was on a CPU below. A line of a column shows
/// the state that most of it is, or the lower one of two as a bar on the other.
pub(super) fn states(slots: &[Slot], theme: &Theme, area: Rect, cells: &mut Buffer) {
    for (at, slot) in slots.iter().enumerate() {
        for line in 0..area.height {
            let inside = inside(
                slot,
                f64::from(area.height - 1 - line),
                f64::from(area.height),
            );
            let Some((letter, mut style)) = drawn(&inside, theme) else {
                continue;
            };
            // Only the length of the state within its second is known.
            if slot.precision == Precision::Shared {
                style = style.add_modifier(Modifier::DIM);
            }
            let y = area.y + line;
            cell(
                cells,
                Rect {
                    y,
                    height: 1,
                    ..area
                },
                at,
                (letter, style),
            );
        }
    }
}

/// The shares of a column that fall into one of its text lines. Lines count from below; a share's part is its part
/// of the line.
fn inside(slot: &Slot, line: f64, lines: f64) -> Vec<Share> {
    let mut below = 0.0;
    let shares = slot.shares().filter_map(|share| {
        let (start, end) = (below * lines, (below + share.part) * lines);
        below += share.part;
        let part = end.min(line + 1.0) - start.max(line);
        (part > 0.0).then_some(Share { part, ..share })
    });
    shares.collect()
}

/// The cell of some shares.
fn drawn(shares: &[Share], theme: &Theme) -> Option<(char, Style)> {
    /// From this part on a share is shown alone, with its letter.
    const ALONE: f64 = 0.8;
    let all: f64 = shares.iter().map(|share| share.part).sum();
    let mut largest: Vec<&Share> = shares.iter().collect();
    largest.sort_by(|left, right| right.part.total_cmp(&left.part));
    let first = *largest.first()?;
    // What ends within the line is drawn as far as it reaches.
    if theme.colours == Colours::None && all < 0.5 {
        return None;
    }
    let solid = |share: &&Share| share.look == Look::Solid;
    let eighths = |part: f64| EIGHTHS[((part * 8.0).round() as usize).clamp(1, 7)];
    let colour = |share: &Share| theme.block(share.activity);
    match largest.get(1).copied().filter(|_| first.part < ALONE) {
        _ if theme.colours == Colours::None => Some(alone(first, theme)),
        None if first.part < ALONE && solid(&first) => {
            Some((eighths(first.part), Style::new().fg(colour(first))))
        }
        None => Some(alone(first, theme)),
        Some(second) => {
            // They keep their order.
            let is_lower = shares.iter().position(|it| it == first)
                < shares.iter().position(|it| it == second);
            let (lower, upper) = if is_lower {
                (first, second)
            } else {
                (second, first)
            };
            match (solid(&lower), solid(&upper)) {
                (true, true) => {
                    let part = lower.part / (lower.part + upper.part);
                    let style = Style::new().fg(colour(lower)).bg(colour(upper));
                    Some((eighths(part), style))
                }
                // What was off CPUs lets the ground through.
                (true, false) => Some((eighths(lower.part), Style::new().fg(colour(lower)))),
                _ => Some(alone(first, theme)),
            }
        }
    }
}

/// The cell of a share that is alone.
fn alone(share: &Share, theme: &Theme) -> (char, Style) {
    let activity = share.activity;
    let is_quiet = matches!(
        activity,
        Activity::State(RefinedState::Serial)
            | Activity::State(RefinedState::Work)
            | Activity::State(RefinedState::Idle)
    );
    match share.look {
        Look::Solid if is_quiet && theme.colours != Colours::None => {
            (' ', theme.activity(activity))
        }
        Look::Solid => (activity.letter(), theme.activity(activity)),
        Look::Pale => {
            let style = theme.text_colour(activity.family());
            let style = match theme.colours {
                Colours::None => style.add_modifier(Modifier::DIM),
                _ => style,
            };
            (activity.letter(), style)
        }
        Look::Hatched => (HATCHED.chars().next().unwrap_or(' '), theme.faint()),
    }
}

/// Draws the thread's scheduling: the share of time on a CPU as a bar, `!` where it was runnable
/// without a CPU.
pub(super) fn scheduling(slots: &[Slot], theme: &Theme, area: Rect, cells: &mut Buffer) {
    for (at, slot) in slots.iter().enumerate() {
        let Some(scheduling) = slot.main_scheduling() else {
            continue;
        };
        let (letter, style) = match scheduling {
            Scheduling::Preempted | Scheduling::Stolen => ('!', theme.preempted()),
            _ => {
                let eighths = (slot.running() * 8.0).round() as usize;
                (EIGHTHS[eighths.min(8)], theme.faint())
            }
        };
        cell(cells, area, at, (letter, style));
    }
}

/// Draws the last digit of the CPU's number in base 36, where samples have it.
pub(super) fn cpus(slots: &[Slot], theme: &Theme, area: Rect, cells: &mut Buffer) {
    for (at, slot) in slots.iter().enumerate() {
        let digit = slot
            .cpu
            .and_then(|cpu| char::from_digit(u32::from(cpu) % 36, 36));
        if let Some(digit) = digit {
            cell(cells, area, at, (digit, theme.faint()));
        }
    }
}

/// Draws a column's cell.
fn cell(cells: &mut Buffer, area: Rect, at: usize, (letter, style): (char, Style)) {
    if at < usize::from(area.width) && area.height > 0 {
        let cell = &mut cells[(area.x + at as u16, area.y)];
        cell.set_char(letter).set_style(style);
    }
}
