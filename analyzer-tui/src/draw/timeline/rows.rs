//! Draws the cells of a thread's row.

use experiment::state::Scheduling;
use omp_model::states::RefinedState;
use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::style::{Modifier, Style};
use report::timeline::Activity;
use report::timeline::{Precision, Slot};

use super::super::theme::Theme;
use report::text::colours::Colours;

/// Eighths of a cell, for the part of a column's time that a thread was on a CPU.
const EIGHTHS: [char; 9] = [' ', '▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'];

/// Draws the thread's states.
pub(super) fn states(slots: &[Slot], theme: &Theme, area: Rect, cells: &mut Buffer) {
    for (at, slot) in slots.iter().enumerate() {
        let Some(activity) = slot.main() else {
            continue;
        };
        let mut style = theme.activity(activity);
        // Only the length of the state within its second is known.
        if slot.precision == Precision::Shared {
            style = style.add_modifier(Modifier::DIM);
        }
        let quiet = matches!(
            activity,
            Activity::State(RefinedState::Serial)
                | Activity::State(RefinedState::Work)
                | Activity::State(RefinedState::Idle)
        );
        let letter = match theme.colours {
            Colours::None => activity.letter(),
            _ if quiet => ' ',
            _ => activity.letter(),
        };
        cell(cells, area, at, (letter, style));
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
