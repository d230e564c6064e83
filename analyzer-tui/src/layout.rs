//! The layout of the screen, for drawing and for clicks.

use ratatui::layout::Rect;

/// The parts of a screen.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Parts {
    /// The names of the views.
    pub tabs: Rect,
    /// The view's title.
    pub title: Rect,
    /// What several experiments are shown as; empty for a single one.
    pub together: Rect,
    /// The view.
    pub body: Rect,
    /// A loss or warning, if there is one.
    pub notice: Rect,
    /// Hints, or a message.
    pub hints: Rect,
}

/// Divides a screen, with or without a line for several experiments and one for a notice. Parts
/// without room are empty.
pub fn parts((width, height): (u16, u16), together: bool, notice: bool) -> Parts {
    let line = |y: u16| Rect::new(0, y.min(height), width, u16::from(y < height));
    let (together_lines, notice_lines) = (u16::from(together), u16::from(notice));
    let top = 2 + together_lines;
    let body = height.saturating_sub(top + 1 + notice_lines);
    let part = |y: u16, lines: u16| Rect {
        height: lines.min(line(y).height),
        ..line(y)
    };
    Parts {
        tabs: line(0),
        title: line(1),
        together: part(2, together_lines),
        body: Rect::new(0, top.min(height), width, body),
        notice: part(top + body, notice_lines),
        hints: line(top + body + notice_lines),
    }
}

/// The parts of a body that lists rows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ListParts {
    /// The heading.
    pub head: Rect,
    /// The rows.
    pub rows: Rect,
    /// Details of the selected row; empty if there is no room.
    pub detail: Rect,
}

/// The most lines of details below a list.
pub const MOST_DETAIL: usize = 3;

/// Divides the body of a list with a heading and details of this many lines.
pub fn list(body: Rect, heading: usize, detail: usize) -> ListParts {
    let most = |lines| match lines {
        0..3 => 0,
        3..9 => 1,
        _ => MOST_DETAIL,
    };
    divided(body, heading, detail, most)
}

/// The same where the details are what the view is for: up to two thirds of it.
pub fn list_of_findings(body: Rect, heading: usize, detail: usize) -> ListParts {
    divided(body, heading, detail, |lines| usize::from(lines * 2 / 3))
}

/// Divides a body; of the lines below the heading, details may have so many.
fn divided(body: Rect, heading: usize, detail: usize, most: impl Fn(u16) -> usize) -> ListParts {
    let head = (heading as u16).min(body.height);
    let detail = detail.min(most(body.height - head)) as u16;
    let rows = body.height - head - detail;
    let cut = |y, height| Rect::new(body.x, body.y + y, body.width, height);
    ListParts {
        head: cut(0, head),
        rows: cut(head, rows),
        detail: cut(head + rows, detail),
    }
}

/// The parts of the timeline.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TimelineParts {
    /// Times.
    pub axis: Rect,
    /// Phases, pauses and sample points; empty if there are none.
    pub marks: Rect,
    /// Region instances, a line a lane; empty if none is listed.
    pub bands: Rect,
    /// The threads' rows, with their labels.
    pub rows: Rect,
    /// The legend of letters and colours.
    pub legend: Rect,
    /// Details at the cursor: beside the rows on a wide screen, else below.
    pub detail: Rect,
    /// The width of the threads' labels.
    pub label: u16,
}

/// The width from which the callstack is beside the rows.
const WIDE: u16 = 120;

/// The width of a thread's label.
const LABEL: u16 = 15;

/// The number of lanes of region instances that are drawn at most.
const MOST_LANES: u16 = 4;

/// Divides the body of the timeline. `lanes` are the lanes of region instances; `extra` is the
/// width that labels need for an experiment's number, and `has_marks` tells whether the program or the
/// user marked times.
pub fn timeline(body: Rect, lanes: u16, extra: u16, has_marks: bool) -> TimelineParts {
    let wide = body.width >= WIDE;
    let side = if wide { (body.width / 3).min(60) } else { 0 };
    let below = if wide { 0 } else { body.height * 2 / 5 };
    let width = body.width - side;
    let lines = body.height - below;
    let legend = u16::from(lines > 4) + u16::from(lines > 12 && width < 130);
    let bands = match lines {
        0..=5 => 0,
        // Leave most lines to the threads.
        lines => lanes.min(MOST_LANES).min((lines / 5).max(1)),
    };
    let axis = u16::from(lines > 2);
    let marks = u16::from(has_marks && lines > 5);
    let rows = lines.saturating_sub(axis + marks + bands + legend);
    let cut = |y: u16, height| Rect::new(body.x, body.y + y, width, height);
    TimelineParts {
        axis: cut(0, axis),
        marks: cut(axis, marks),
        bands: cut(axis + marks, bands),
        rows: cut(axis + marks + bands, rows),
        legend: cut(axis + marks + bands + rows, legend),
        detail: if wide {
            Rect::new(body.x + width, body.y, side, body.height)
        } else {
            cut(lines, below)
        },
        label: (LABEL + extra).min(width / 2),
    }
}

impl TimelineParts {
    /// The columns of time.
    pub fn columns(&self) -> usize {
        usize::from(self.rows.width - self.label)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_size_is_cut_into_parts_that_lie_inside_and_apart() {
        for width in 0..200 {
            for height in 0..60 {
                let parts = parts((width, height), true, true);
                let all = [
                    parts.tabs,
                    parts.title,
                    parts.together,
                    parts.body,
                    parts.notice,
                    parts.hints,
                ];
                let lines: u16 = all.iter().map(|part| part.height).sum();
                assert!(lines <= height, "{width}x{height}");
                let rows = list(parts.body, 3, 2);
                assert_eq!(
                    rows.head.height + rows.rows.height + rows.detail.height,
                    parts.body.height
                );
                let found = list_of_findings(parts.body, 2, 40);
                let lines = found.head.height + found.rows.height + found.detail.height;
                assert_eq!(lines, parts.body.height);
                let time = timeline(parts.body, 3, 0, height % 2 == 0);
                let all = [
                    time.axis,
                    time.marks,
                    time.bands,
                    time.rows,
                    time.legend,
                    time.detail,
                ];
                for part in all {
                    assert!(
                        part.right() <= width && part.bottom() <= height,
                        "{width}x{height}"
                    );
                }
                assert!(time.label <= time.rows.width);
            }
        }
    }
}
