//! Pictures of the timeline and the flame graph.

use std::ops::Range;

use report::change::Change;
use report::json::mode_name;
use report::timeline::{Activity, Look, Share, Slot};

use crate::axis::{Tick, ticks};
use crate::flame::{change, flames, label, sentence};
use crate::state::app::App;
use crate::text_fit::fit_name;

/// Width of a picture, in pixels of no particular size.
const WIDTH: f64 = 1200.0;
const LABEL: f64 = 130.0;
const LINE: f64 = 18.0;
const FONT: &str = "font-family=\"monospace\" font-size=\"12\"";

fn escape(text: &str) -> String {
    // XML has no place for control characters, which a name may hold.
    let text: String = text
        .chars()
        .map(|letter| if letter.is_control() { ' ' } else { letter })
        .collect();
    text.replace('&', "&amp;")
        .replace('<', "&lt;")
        .replace('>', "&gt;")
        .replace('"', "&quot;")
}

fn picture(height: f64, title: &str, inside: &str) -> String {
    format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {WIDTH} {height}\" {FONT}>\n\
         <title>{title}</title>\n\
         <rect width=\"{WIDTH}\" height=\"{height}\" fill=\"white\"/>\n\
         <text x=\"4\" y=\"14\">{title}</text>\n{inside}</svg>\n",
        title = escape(title)
    )
}

fn rectangle((x, y): (f64, f64), (width, height): (f64, f64), colour: &str, title: &str) -> String {
    format!(
        "<rect x=\"{x:.2}\" y=\"{y:.2}\" width=\"{width:.2}\" height=\"{height:.2}\" \
         fill=\"{colour}\"><title>{}</title></rect>\n",
        escape(title)
    )
}

/// A picture of the flame graph.
pub(super) fn flame(app: &App) -> String {
    /// Boxes narrower than this cannot be seen.
    const LEAST: f64 = 0.2 / WIDTH;
    let tree = app.documents.tree(&app.experiments);
    let metric = app.documents.flame_metric();
    let at = tree.column(metric);
    let boxes = flames(tree, app.tree.zoom, at, LEAST);
    let deepest = boxes.iter().map(|flame| flame.depth).max().unwrap_or(0);
    let mut inside = String::new();
    let is_compared = app.is_compared();
    let top = if is_compared {
        inside.push_str(&legend_of_changes());
        22.0 + LINE
    } else {
        22.0
    };
    for flame in &boxes {
        let name = &label(tree, flame.row, at);
        let change = is_compared.then(|| change(tree, flame.row, at));
        let (colour, text) = match (change, Activity::of_name(tree.name(flame.row))) {
            (Some(change), _) => colours(change),
            (None, Some(activity)) => (activity.family().colour(), "black"),
            (None, None) => ("#eed9a0", "black"),
        };
        let (x, y) = (flame.start * WIDTH, top + flame.depth as f64 * LINE);
        let width = (flame.end - flame.start) * WIDTH;
        let title = if is_compared {
            sentence(tree, flame.row, at)
        } else {
            format!("{name} ({})", tree.amount(at, tree.time(flame.row, at)))
        };
        inside.push_str(&rectangle(
            (x, y),
            ((width - 0.5).max(0.1), LINE - 1.0),
            colour,
            &title,
        ));
        let letters = ((width - 6.0) / 7.3) as usize;
        if letters > 2 {
            inside.push_str(&format!(
                "<text x=\"{:.2}\" y=\"{:.2}\" fill=\"{text}\">{}</text>\n",
                x + 3.0,
                y + 13.0,
                escape(&fit_name(name, letters))
            ));
        }
    }
    let height = 4.0 + top + (deepest + 1) as f64 * LINE;
    let title = format!(
        "{}: Attributed {}, {} mode",
        app.experiments.name,
        metric.label(),
        mode_name(app.settings.report.mode)
    );
    picture(height, &title, &inside)
}

/// The colours of a difference and of a text on it.
const fn colours(change: Change) -> (&'static str, &'static str) {
    let [colour, _] = change.colours();
    match change {
        Change::Gone | Change::New => (colour, "white"),
        _ => (colour, "black"),
    }
}

/// What the colours of differences stand for, in a line.
fn legend_of_changes() -> String {
    let mut inside = String::new();
    let mut x = 4.0;
    for change in Change::ALL {
        let (colour, _) = colours(change);
        let words = change.legend();
        inside.push_str(&rectangle((x, 22.0), (10.0, 10.0), colour, words));
        inside.push_str(&format!(
            "<text x=\"{:.0}\" y=\"32\">{words}</text>\n",
            x + 14.0
        ));
        x += 30.0 + words.len() as f64 * 7.3;
    }
    inside
}

/// The number of columns of time in a picture.
const COLUMNS: usize = 1070;

/// Draws the axis: round times, each with a line down to the last thread.
fn axis(range: &Range<u64>, height: f64, inside: &mut String) {
    /// The number of letters that labels may take together.
    const ROOM: usize = 60;
    let length = (range.end - range.start) as f64;
    let (unit, ticks) = ticks(range, ROOM);
    for Tick { time, label } in ticks {
        let x = LABEL + (time - range.start) as f64 / length * COLUMNS as f64;
        inside.push_str(&format!(
            "<path d=\"M{x:.2} 24V{:.2}\" stroke=\"#bbb\" stroke-width=\"0.5\"/>\n\
             <text x=\"{:.2}\" y=\"34\" fill=\"#666\">{label} {}</text>\n",
            24.0 + height,
            x + 3.0,
            unit.symbol
        ));
    }
}

/// What time without a CPU in a state of work is drawn with.
const HATCHED: &str = "<pattern id=\"hatched\" width=\"5\" height=\"5\" patternUnits=\"userSpaceOnUse\" \
     patternTransform=\"rotate(45)\"><path d=\"M1 0V5\" stroke=\"#333\" stroke-width=\"2\"/></pattern>\n";

/// A picture of the timeline: the range in sight, with all threads.
pub(super) fn timeline(app: &App) -> String {
    let range = &app.timeline.range;
    let timeline = app.experiments.timeline();
    let mut inside = String::new();
    let order = app.thread_order();
    // Few threads use the height.
    let high = (400.0 / order.threads.len().max(1) as f64).clamp(LINE, 4.0 * LINE);
    // A line for the axis, then those of threads and groups.
    let height = LINE * (1 + order.groups.len()) as f64 + high * order.threads.len() as f64;
    axis(range, height, &mut inside);
    inside.push_str(HATCHED);
    let mut y = 24.0 + LINE;
    for (row, &thread) in order.threads.iter().enumerate() {
        if let Some(group) = order.group(row).filter(|group| group.start == row) {
            inside.push_str(&format!(
                "<text x=\"4\" y=\"{:.2}\" font-weight=\"bold\">{}</text>\n",
                y + 12.0,
                escape(&group.label)
            ));
            y += LINE;
        }
        let label = escape(&app.thread_label(thread));
        inside.push_str(&format!(
            "<text x=\"4\" y=\"{:.2}\">{label}</text>\n",
            y + 12.0
        ));
        let slots = timeline.slots(thread, range, COLUMNS, &app.timeline.window);
        draw_slots(&slots, (y, high - 2.0), &mut inside);
        y += high;
    }
    let bottom = legend(y + 6.0, &mut inside);
    let title = format!(
        "{}: {:.6} to {:.6} s; pale: off CPUs; hatched: work without a CPU",
        app.experiments.name,
        range.start as f64 / 1e9,
        range.end as f64 / 1e9
    );
    picture(bottom + LINE + 4.0, &title, &inside)
}

/// Draws a thread's states as shares of a height, what was on a CPU below.
fn draw_slots(slots: &[Slot], (y, height): (f64, f64), inside: &mut String) {
    let shares = |slot: &Slot| -> Vec<Share> { slot.shares().collect() };
    let columns: Vec<Vec<Share>> = slots.iter().map(shares).collect();
    let mut start = 0;
    // Adjacent columns that are alike are one rectangle a state.
    for same in columns.chunk_by(|left, right| are_alike(left, right)) {
        let mut bottom = y + height;
        for share in &same[0] {
            let high = share.part * height;
            bottom -= high;
            let (place, size) = ((LABEL + start as f64, bottom), (same.len() as f64, high));
            let words = share.activity.words();
            let colour = share.activity.family().colour();
            match share.look {
                Look::Solid => inside.push_str(&rectangle(place, size, colour, words)),
                Look::Pale => {
                    let title = format!("{words}, off CPUs");
                    let pale = format!("{colour}\" fill-opacity=\"0.4");
                    inside.push_str(&rectangle(place, size, &pale, &title));
                }
                Look::Hatched => {
                    let title = format!("{words}, without a CPU");
                    inside.push_str(&rectangle(place, size, "url(#hatched)", &title));
                }
            }
        }
        start += same.len();
    }
}

/// Whether columns look the same: no share differs by a hundredth of the height.
fn are_alike(left: &[Share], right: &[Share]) -> bool {
    left.len() == right.len()
        && left.iter().zip(right).all(|(one, two)| {
            (one.activity, one.look) == (two.activity, two.look)
                && (one.part - two.part).abs() < 0.01
        })
}

/// Draws the legend. Returns the top of its last line.
fn legend(top: f64, inside: &mut String) -> f64 {
    let (mut x, mut y) = (LABEL, top);
    for activity in Activity::ALL {
        let colour = activity.family().colour();
        let words = activity.words();
        inside.push_str(&rectangle((x, y), (10.0, 10.0), colour, words));
        inside.push_str(&format!(
            "<text x=\"{:.0}\" y=\"{:.2}\">{words}</text>\n",
            x + 14.0,
            y + 10.0
        ));
        x += 30.0 + words.len() as f64 * 7.3;
        if x > WIDTH - 130.0 {
            x = LABEL;
            y += LINE;
        }
    }
    y
}
