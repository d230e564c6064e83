//! Views as text, rows and names whole.

use crate::app::{App, View};
use crate::draw::{timeline_facts, timeline_stack};
use crate::tables::{self, mode_name};
use report::timeline::Activity;

pub(super) fn report(app: &App) -> String {
    let mode = mode_name(app.settings.mode);
    let mut text = format!("Experiment: {}\nMode: {mode}\n", app.recording.name);
    if let Some(filter) = &app.settings.filter {
        text.push_str(&format!("Filter: {}\n", filter.text()));
    }
    text.push('\n');
    text.push_str(&match app.view {
        View::Timeline => timeline(app),
        View::Tree | View::Flame => {
            let tree = app.data.tree(&app.recording);
            let all: Vec<usize> = (0..tree.rows.len()).collect();
            tables::calltree(&app.data, &app.recording, &all, |_| true).text()
        }
        _ => app.table.text(),
    });
    let warnings = app.recording.warnings.iter().cloned();
    let notices = app.data.notices(&app.recording).iter().cloned();
    for (at, notice) in warnings.chain(notices).enumerate() {
        text.push_str(if at == 0 { "\n" } else { "" });
        text.push_str(&format!("Note: {notice}\n"));
    }
    text
}

/// The rows in sight by letters, then what the cursor points at.
fn timeline(app: &App) -> String {
    let range = &app.timeline.range;
    let mut text = format!(
        "Timeline from {:.6} to {:.6} s\n\n",
        range.start as f64 / 1e9,
        range.end as f64 / 1e9
    );
    let order = app.order();
    for (row, &thread) in order.threads.iter().enumerate() {
        if let Some(group) = order.group(row).filter(|group| group.start == row) {
            text.push_str(&format!("{}\n", group.label));
        }
        let label = app.thread_label(thread);
        let slots = app.slots(thread);
        let states = slots
            .iter()
            .map(|slot| slot.main().map_or(' ', Activity::letter));
        text.push_str(&format!(
            "{label:<20} {}\n",
            states.collect::<String>().trim_end()
        ));
    }
    text.push('\n');
    for activity in Activity::ALL {
        text.push_str(&format!("  {} {}\n", activity.letter(), activity.words()));
    }
    if let Some(pointed) = app.pointed() {
        text.push_str(&format!(
            "\n{} at {:.6} s\n",
            app.thread_label(pointed.thread),
            app.timeline.time as f64 / 1e9
        ));
        let facts = timeline_facts(app, &pointed);
        for line in facts.iter().chain(&timeline_stack(app, &pointed)) {
            text.push_str(&format!("  {line}\n"));
        }
    }
    text
}
