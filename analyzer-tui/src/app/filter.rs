//! The filters that are offered to edit.

use omp_model::ids::ContextId;

use super::{App, View};

/// A name as a text of a filter.
fn quoted(name: &str) -> String {
    match name.contains('"') {
        true => format!("'{name}'"),
        false => format!("\"{name}\""),
    }
}

impl App {
    /// What is offered: the filter in force, then what the selection suggests, by itself, with
    /// the filter in force, and its opposite.
    pub(super) fn suggestions(&self) -> Vec<(&'static str, String)> {
        let mut all = Vec::new();
        let now = self.settings.filter.as_ref().map(|filter| filter.text());
        if let Some(now) = now {
            all.push(("the filter in force", now.to_owned()));
        }
        for (words, text) in self.selected() {
            if let Some(now) = now {
                all.push((
                    "that of the filter in force, and",
                    format!("({now}) && ({text})"),
                ));
            }
            all.push((words, text));
        }
        if let Some((_, text)) = self.selected().into_iter().next() {
            let opposite = format!("!({text})");
            all.push(("all but what is selected", opposite));
        }
        all
    }

    /// The expressions that stand for what is selected, the nearest first.
    fn selected(&self) -> Vec<(&'static str, String)> {
        let inside = |name: &str| format!("{} IN STACK", quoted(name));
        let row = self.table.rows.get(self.cursor().selected);
        let named = |row: Option<&crate::report::Row>| {
            let row = row.filter(|row| row.name != omp_model::views::TOTAL)?;
            Some(("all under the selected function", inside(&row.name)))
        };
        match self.view {
            View::Threads => {
                let rows = self.data.threads(&self.recording);
                let row = rows.get(self.cursor().selected);
                let one = |tid: i32| ("the selected thread", format!("LWPID=={tid}"));
                row.map(|row| one(row.tid)).into_iter().collect()
            }
            View::Functions | View::Callers => named(row)
                .into_iter()
                .chain(
                    row.filter(|row| row.name != omp_model::views::TOTAL)
                        .map(|row| {
                            let text = format!("LEAF=={}", quoted(&row.name));
                            ("the selected function alone", text)
                        }),
                )
                .collect(),
            View::Regions => {
                let directives = self.data.directives(&self.recording);
                let construct = row.and_then(|row| row.construct);
                let contexts = construct.and_then(|construct| directives.contexts(construct));
                let own = contexts.map(|(word, contexts)| (word, numbers(word, contexts)));
                let own = own.map(|(word, text)| match word {
                    "TASK" => ("the selected task's own time", text),
                    _ => ("the selected region's own time", text),
                });
                let all = row.map(|row| ("all under the selected construct", inside(&row.name)));
                all.into_iter().chain(own).collect()
            }
            View::Tree | View::Flame => {
                let tree = self.data.tree(&self.recording);
                let row = tree.rows.get(self.tree.selected);
                let row = row.filter(|row| row.depth > 0);
                row.map(|row| ("all under the selected function", inside(&row.name)))
                    .into_iter()
                    .collect()
            }
            View::Timeline => self.selected_on_timeline(),
            View::Source | View::Disassembly => {
                vec![("all under this function", inside(&self.centre))]
            }
            View::Overview => {
                let link = row.and_then(|row| row.link.as_ref());
                link.map(|link| ("all under what this line is about", inside(link)))
                    .into_iter()
                    .collect()
            }
            View::Experiment => Vec::new(),
        }
    }

    fn selected_on_timeline(&self) -> Vec<(&'static str, String)> {
        let time = |start: u64, end: u64| format!("TSTAMP>={start} && TSTAMP<{end}");
        let mut all = Vec::new();
        if let Some(part) = self.selection() {
            all.push(("the box", self.filter_of(&part)));
        }
        if let Some(band) = self.picked() {
            let text = self.filter_of_instance(band);
            all.extend(text.map(|text| ("the selected instance", text)));
        }
        let range = &self.timeline.range;
        all.push(("the time in sight", time(range.start, range.end)));
        let thread = self.threads().get(self.timeline.row);
        if let Some(thread) = thread {
            all.push(("the selected thread", format!("THRID=={}", thread.0 + 1)));
        }
        let Some(pointed) = self.pointed() else {
            return all;
        };
        if let Some(row) = pointed.interval {
            let (start, end) = (row.start.0, row.start.0 + row.length.0);
            all.push(("the time of the interval at the cursor", time(start, end)));
        }
        if let Some(band) = pointed.bands.last() {
            let text = self.filter_of_instance(band);
            all.extend(text.map(|text| ("the instance at the cursor", text)));
            let name = self.recording.construct_name(band.context);
            all.push((
                "all under the construct at the cursor",
                format!("{} IN STACK", quoted(name)),
            ));
            all.push((
                "the time of the instance at the cursor",
                time(band.start, band.end),
            ));
        }
        all
    }

    /// The expression that `y` copies: the filter in force, else the nearest to what is selected.
    pub(super) fn expression(&self) -> Option<String> {
        let first = self.suggestions().into_iter().next();
        first.map(|(_, text)| text)
    }
}

/// Contexts as values of a word.
fn numbers(word: &str, contexts: &[ContextId]) -> String {
    match contexts {
        [one] => format!("{word}=={}", one.0),
        several => {
            let all: Vec<String> = several
                .iter()
                .map(|context| context.0.to_string())
                .collect();
            format!("{word} IN ({})", all.join(", "))
        }
    }
}
