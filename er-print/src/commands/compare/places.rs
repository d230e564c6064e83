//! Functions, lines, instructions and sources side by side.

use omp_model::metrics::Quantity;
use omp_model::views::annotated::{FileTimes, LineTimes, file_times};
use omp_model::views::compare::join::{Joined, join, order};
use omp_model::views::{List, Row as ListRow};
use serde_json::{Map, json};

use super::table::{Row, Table, of_times};
use super::{Beside, scaling_of_others};
use crate::commands::functions::seconds;
use crate::commands::source::{self, Hot};
use crate::failure::Stop;
use crate::session::PrintMode;
use report::settings::Compare;

/// Lists joined by name, `<Total>` first.
pub(super) fn joined(beside: &Beside<'_>, lists: Vec<List>) -> Vec<Joined<ListRow>> {
    let request = &beside.request;
    let sides = lists
        .into_iter()
        .map(|list| std::iter::once(list.total).chain(list.rows).collect());
    let mut rows = join(sides.collect(), |row: &ListRow| row.name.clone());
    let by = |row: &ListRow| seconds(request, row, request.sort.quantity);
    if let [_, rest @ ..] = rows.as_mut_slice() {
        rest.sort_by(|left, right| order(request.sort, by, left, right));
    }
    rows
}

/// The source of a file or function, with the times of every experiment that has it. The text is
/// the first one's.
pub(in crate::commands) fn source(
    beside: &Beside<'_>,
    name: &str,
    number: Option<usize>,
) -> Result<String, Stop> {
    if beside.mode == Compare::Scaling {
        return Err(scaling_of_others("source"));
    }
    let mut found = Vec::new();
    let mut why = None;
    for scene in &beside.scenes {
        match source::find(scene, name, number) {
            Ok((file, _)) => found.push(Some(file)),
            Err(stop) => {
                why.get_or_insert(stop);
                found.push(None);
            }
        }
    }
    let first = found.iter().position(Option::is_some);
    let Some((first, Some(file))) = first.map(|at| (at, found[at])) else {
        return Err(why.unwrap_or_else(|| Stop::words("there is nothing to compare")));
    };
    let text = source::read(&beside.scenes[first], file);
    let times: Vec<Option<FileTimes>> = beside
        .scenes
        .iter()
        .zip(&found)
        .map(|(scene, file)| {
            let metrics = &beside.request.metrics;
            file.map(|file| file_times(scene.profile(), &scene.names, metrics, file))
        })
        .collect();
    let all = times.iter().flatten();
    let timed = all.clone().flat_map(|times| times.lines.keys().copied());
    let mut lines: Vec<u32> = (1..=text.lines.len() as u32).chain(timed).collect();
    lines.sort_unstable();
    lines.dedup();
    let share = beside.first().settings.annotation.source_hot;
    let hot: Vec<Option<Hot>> = times
        .iter()
        .zip(&beside.scenes)
        .map(|(times, scene)| Some(Hot::new(scene, times.as_ref()?.lines.values(), share)))
        .collect();
    let quantities = beside.times();
    let rows: Vec<Row> = lines
        .into_iter()
        .filter(|&line| line > 0)
        .map(|line| {
            let at = |times: &Option<FileTimes>| times.as_ref()?.lines.get(&line).cloned();
            let of_line: Vec<Option<LineTimes>> = times.iter().map(at).collect();
            let is_hot = |(times, hot): (&Option<LineTimes>, &Option<Hot>)| {
                let (Some(times), Some(hot)) = (times, hot) else {
                    return false;
                };
                hot.is(times)
            };
            let is_hot = of_line.iter().zip(&hot).any(is_hot);
            let value = |times: &Option<LineTimes>, quantity: Quantity| match quantity {
                Quantity::Time(_, metric) => {
                    let at = beside.request.index(metric)?;
                    Some(source::of(times.as_ref()?, quantity, at))
                }
                _ => None,
            };
            let written = text.lines.get(line as usize - 1);
            let written = written.map_or("", String::as_str);
            let mut fields = Map::new();
            fields.insert("line".to_owned(), json!(line));
            fields.insert("hot".to_owned(), json!(is_hot));
            let name = match beside.first().settings.print {
                PrintMode::Text => format!("{line:>4}. {written}"),
                PrintMode::Json => written.to_owned(),
            };
            Row {
                lead: if is_hot { "## " } else { "   " }.to_owned(),
                name,
                values: of_line
                    .iter()
                    .map(|times| quantities.iter().map(|&it| value(times, it)).collect())
                    .collect(),
                fields,
                ..Row::default()
            }
        })
        .collect();
    let place = text.path.map(|path| path.display().to_string());
    let warning = text.warning.map(|why| format!("Warning: {why}\n"));
    let table = Table {
        beside,
        view: "source",
        title: format!(
            "Source file: {}\nFound as: {}\n{}",
            text.recorded,
            place.as_deref().unwrap_or("(not found)"),
            warning.unwrap_or_default()
        ),
        columns: of_times(&quantities),
    };
    Ok(table.report(&rows))
}
