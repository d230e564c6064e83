//! Suggests filters from the selection.

use experiment::ids::ContextId;

use report::document::Target;

use crate::state::app::App;
use crate::view::View;

/// A name as a string of a filter's expression.
fn quoted(name: &str) -> String {
    if name.contains('"') {
        format!("'{name}'")
    } else {
        format!("\"{name}\"")
    }
}

impl App {
    /// The suggestions: the filter in force, then each expression for the selection, combined with
    /// the filter in force and alone, then the opposite of the first one.
    pub(super) fn suggestions(&self) -> Vec<(&'static str, String)> {
        let mut all = Vec::new();
        let now = self.settings.filter();
        if let Some(now) = now {
            all.push(("the filter in force", now.to_owned()));
        }
        for (words, text) in self.expressions() {
            if let Some(now) = now {
                all.push((
                    "that of the filter in force, and",
                    format!("({now}) && ({text})"),
                ));
            }
            all.push((words, text));
        }
        if let Some((_, text)) = self.expressions().into_iter().next() {
            let opposite = format!("!({text})");
            all.push(("all but what is selected", opposite));
        }
        all
    }

    /// The expressions for the selection, the most specific first.
    fn expressions(&self) -> Vec<(&'static str, String)> {
        let inside = |name: &str| format!("{} IN STACK", quoted(name));
        let line = self.cursor().selected;
        let target = self.list.target(line);
        let function = self.list.function(line);
        let function = function.filter(|name| *name != omp_model::views::TOTAL);
        let under = |words, name: Option<&str>| name.map(|name| (words, inside(name)));
        let mut all = Vec::new();
        match self.view {
            View::Threads => {
                if let Some(Target::Thread(thread)) = target {
                    let threads = &self.experiments.experiment.tables.threads;
                    let row = threads.get(thread.index());
                    all.extend(
                        row.map(|row| ("the selected thread", format!("LWPID=={}", row.tid))),
                    );
                }
            }
            View::Functions | View::Callers => {
                all.extend(under("all under the selected function", function));
                all.extend(function.map(|name| {
                    let text = format!("LEAF=={}", quoted(name));
                    ("the selected function alone", text)
                }));
            }
            view if view.order().is_some() => match target {
                Some(Target::Construct(construct)) if !construct.contexts.is_empty() => {
                    all.extend(under("all under the selected construct", function));
                    let text = one_of(construct.word, &construct.contexts);
                    all.push(match construct.word {
                        "TASK" => ("the selected task's own time", text),
                        _ => ("the selected region's own time", text),
                    });
                }
                _ => all.extend(under("all under the function that holds it", function)),
            },
            View::Tree | View::Flame => {
                let tree = self.documents.tree(&self.experiments);
                let name = Some(tree.name(self.tree.selected));
                let name = name.filter(|_| tree.depth(self.tree.selected) > 0);
                all.extend(under("all under the selected function", name));
            }
            View::Timeline => all = self.expressions_on_timeline(),
            View::Source | View::Disassembly => {
                let function = Some(self.function_of_code());
                all.extend(under("all under this function", function));
            }
            View::Overview => {
                all.extend(under("all under what this line is about", function));
            }
            _ => {}
        }
        all
    }

    fn expressions_on_timeline(&self) -> Vec<(&'static str, String)> {
        let time = |start: u64, end: u64| format!("TSTAMP>={start} && TSTAMP<{end}");
        let mut all = Vec::new();
        if let Some(part) = self.selected_box() {
            all.push(("the box", self.filter_of(&part)));
        }
        if let Some(band) = self.selected_instance() {
            let text = self.filter_of_instance(band);
            all.extend(text.map(|text| ("the selected instance", text)));
        }
        let range = &self.timeline.range;
        all.push(("the time in sight", time(range.start, range.end)));
        let thread = self.threads().get(self.timeline.row);
        if let Some(thread) = thread {
            all.push(("the selected thread", format!("THRID=={}", thread.0 + 1)));
        }
        let Some(at_cursor) = self.at_cursor() else {
            return all;
        };
        if let Some(row) = at_cursor.interval {
            let (start, end) = (row.start.0, row.start.0 + row.length.0);
            all.push(("the time of the interval at the cursor", time(start, end)));
        }
        if let Some(band) = at_cursor.bands.last() {
            let text = self.filter_of_instance(band);
            all.extend(text.map(|text| ("the instance at the cursor", text)));
            let name = self.experiments.construct_name(band.context);
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

    /// The expression that `y` copies: the filter in force, else the first for the selection.
    pub(super) fn expression(&self) -> Option<String> {
        let first = self.suggestions().into_iter().next();
        first.map(|(_, text)| text)
    }
}

/// A condition that a filter's word is one of these contexts.
fn one_of(word: &str, contexts: &[ContextId]) -> String {
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
