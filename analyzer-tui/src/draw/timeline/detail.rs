//! What the cursor points at.

use omp_model::rows::SampleKind;
use omp_model::state::Presence;
use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::style::Style;

use super::super::theme::Theme;
use super::super::{fit, fit_name, from, put, wrap};
use super::duration;
use crate::app::App;
use crate::app::timeline::Pointed;
use report::timeline::Activity;
use report::timeline::Band;

/// Draws what is known of the moment under the cursor, and its callstack.
pub(super) fn draw(app: &App, theme: &Theme, area: Rect, cells: &mut Buffer) {
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
    let width = usize::from(area.width);
    // Beside the rows there is room for what is too long for a line; under them there is not.
    let wrapped = |text: String| match beside {
        true => wrap(&text, width),
        false => vec![fit(&text, width)],
    };
    let mut lines = facts(app, &pointed)
        .into_iter()
        .flat_map(wrapped)
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
            false => fit_name(text, width),
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
        Presence::Stolen => "its CPU taken away by the hypervisor",
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
    let life = |band: &Band| {
        let (length, start) = (duration(band.end - band.start), band.start as f64 / 1e9);
        format!("{}, {length} from {start:.6} s", app.instance_of(band))
    };
    if let Some(band) = app.picked() {
        lines.insert(0, format!("selected: {}", life(band)));
    }
    lines.extend(
        pointed
            .bands
            .iter()
            .map(|band| format!("in {}", life(band))),
    );
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
    let Some(moments) = app.recording.known_moments(app.settings.mode) else {
        return vec!["(callstacks follow when all samples are read)".to_owned()];
    };
    let Some((path, _)) = pointed.stack else {
        return Vec::new();
    };
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
