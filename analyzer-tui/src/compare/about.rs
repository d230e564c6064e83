//! First looks and facts of experiments beside each other.

use omp_model::views::compare::overview::{self, Side, Unit};
use omp_model::views::notices::{inferred_seconds, notices};
use omp_model::views::overview::overview as sum_up;

use super::Beside;
use crate::about::{Section, fact, sections, strong, warned};
use crate::data::LARGEST;
use crate::recording::remarks;
use crate::report::{Column, Row, Table};
use report::timeline::Activity;

/// Where the time of each experiment went.
pub fn overview(beside: &Beside<'_>) -> Table {
    let (data, recording) = (beside.data, beside.recording);
    let parts = recording.parts().iter().enumerate();
    let looks: Vec<_> = parts
        .map(|(side, part)| {
            let names = part.names(Default::default());
            let profile = data.side(recording, side);
            let overview = sum_up(profile, &names, recording.available(), LARGEST);
            let directives = data.side_directives(recording, side);
            let duration = part.experiment.duration().seconds();
            (duration, overview, directives.first)
        })
        .collect();
    let sides: Vec<Side<'_>> = looks
        .iter()
        .map(|(duration, overview, first)| Side {
            duration: *duration,
            overview,
            first: first.as_ref(),
        })
        .collect();
    let mut rows = Vec::new();
    for block in overview::blocks(&sides) {
        rows.push(strong(block.title));
        rows.extend(block.facts.into_iter().map(|fact| Row {
            values: beside.cells(&fact.values, fact.unit.decimals()),
            ..Row::line(format!("{}{}", "  ".repeat(fact.depth + 1), fact.label))
        }));
        rows.push(Row::line(""));
    }
    rows.push(strong("Functions with most thread time, seconds"));
    let largest = beside.shared(|shared| overview::largest(shared, LARGEST));
    rows.extend(largest.into_iter().map(|joined| {
        // What an experiment does not have took no time in it.
        let seconds = |row: &Option<_>| {
            let row: Option<&omp_model::views::Row> = row.as_ref();
            Some(row.map_or(0.0, |row| row.exclusive[0]))
        };
        let values: Vec<Option<f64>> = joined.rows.iter().map(seconds).collect();
        Row {
            values: beside.cells(&values, Unit::Seconds.decimals()),
            tint: Activity::of_name(&joined.name),
            link: Some(joined.name.clone()),
            ..Row::line(format!("  {}", joined.name))
        }
    }));
    let column = |number: usize| Column {
        id: format!("value.{}", number + 1),
        label: format!("Experiment {}", number + 1),
        unit: "",
        head: match number {
            0 => ["(1)".to_owned(), String::new()],
            _ => [format!("({})", number + 1), beside.how.word().to_owned()],
        },
        quantity: None,
    };
    Table {
        title: beside.title("Where the time went"),
        columns: (0..beside.count).map(column).collect(),
        rows,
    }
}

/// How each experiment was recorded: a fact that all have alike in one line, else one under the
/// other.
pub fn experiments(beside: &Beside<'_>) -> Table {
    let (data, recording) = (beside.data, beside.recording);
    let mut rows = Vec::new();
    let parts = recording.parts();
    for (number, part) in (1..).zip(parts) {
        let profile = part.profile(data.settings.mode);
        let notices = notices(&part.experiment.header, inferred_seconds(profile));
        let notices = notices.iter().map(ToString::to_string);
        let warnings = part.warnings.iter().cloned();
        for text in warnings.chain(notices).chain(remarks(part)) {
            rows.extend(warned(&format!("({number}) "), &text));
        }
    }
    if !rows.is_empty() {
        rows.push(Row::line(""));
    }
    let sides: Vec<_> = parts
        .iter()
        .map(|part| sections(part, part.profile(data.settings.mode)))
        .collect();
    for at in 0..sides.first().map_or(0, |sections| sections.len()) {
        let all: Vec<&Section> = sides.iter().map(|sections| &sections[at]).collect();
        rows.push(strong(all[0].title));
        let mut labels: Vec<&str> = Vec::new();
        for (label, _) in all.iter().flat_map(|section| &section.facts) {
            if !labels.contains(&label.as_str()) {
                labels.push(label);
            }
        }
        for label in labels {
            rows.extend(beside_each_other(label, &all));
        }
        rows.push(Row::line(""));
    }
    Table {
        title: beside.title("Experiments"),
        columns: Vec::new(),
        rows,
    }
}

/// The facts of one name.
fn beside_each_other(label: &str, sections: &[&Section]) -> Vec<Row> {
    let values: Vec<Vec<&str>> = sections
        .iter()
        .map(|section| {
            let same = section.facts.iter().filter(|(known, _)| known == label);
            same.map(|(_, value)| value.as_str()).collect()
        })
        .collect();
    if values.iter().all(|own| *own == values[0]) {
        return values[0].iter().map(|value| fact(label, value)).collect();
    }
    let mut rows = Vec::new();
    for (number, own) in (1..).zip(values) {
        let own = match own.is_empty() {
            true => vec!["-"],
            false => own,
        };
        for value in own {
            let label = if rows.is_empty() { label } else { "" };
            rows.push(fact(label, format!("({number}) {value}")));
        }
    }
    rows
}
