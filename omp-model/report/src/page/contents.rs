//! What a page holds: the documents of every view, in each mode.

use std::collections::BTreeMap;

use experiment::symbols::FileId;
use omp_model::metrics::{self, Flavour, Quantity};
use omp_model::profile::ViewMode;
use serde_json::{Map, Value as Json, json};

use super::data;
use crate::averages::average;
use crate::caveats;
use crate::change::Change;
use crate::document::{Block, Document, Row, Style, Table};
use crate::find::{self, Named};
use crate::functions::Kind;
use crate::json::mode_name;
use crate::prune::{Least, prune};
use crate::query::{Query, Source};
use crate::races;
use crate::settings::{Compare, Settings};
use crate::timeline;
use crate::views::{Recorded, View};

/// What the user chooses of a page.
#[derive(Clone, Copy, Debug)]
pub struct Choice {
    /// Whether it has source text.
    pub has_sources: bool,
    /// Whether paths lose their folders.
    pub redacts: bool,
}

impl Default for Choice {
    fn default() -> Choice {
        Choice {
            has_sources: true,
            redacts: false,
        }
    }
}

/// Documents of more rows lose those that are below [`SMALL`] percent of the whole.
const MOST_ROWS: usize = 4_000;
/// Too small to be seen in a flame graph of a thousand pixels.
const SMALL: f64 = 0.05;
/// The most source files: those of the functions with most time.
const MOST_FILES: usize = 40;
/// Lines that are shown on both sides of a line with time.
const AROUND: usize = 12;

/// All that the page's script reads.
pub(super) fn contents(query: &Query<'_>, choice: Choice) -> Json {
    let compares = match query.groups().len() {
        2.. => &data::COMPARED[..],
        _ => &[Compare::Off],
    };
    let modes = [ViewMode::User, ViewMode::Machine];
    let variants: Map<String, Json> = modes
        .into_iter()
        .map(|mode| {
            let settings = Settings {
                mode,
                compare: compares[0],
                ..query.settings.clone()
            };
            let variant = variant(&under(query, &settings), choice);
            (mode_name(mode).to_owned(), variant)
        })
        .collect();
    let shown = query.columns.iter().filter_map(|it| match it.quantity {
        Quantity::Time(_, metric) if it.value || it.percent => Some(metric.id()),
        _ => None,
    });
    let mut shown: Vec<&str> = shown.collect();
    shown.dedup();
    let metrics = query.all.analysis.available().metrics().iter();
    let metrics: Vec<Json> = metrics
        .map(|metric| json!([metric.id(), metric.label()]))
        .collect();
    let views = View::of_page(Recorded::of(query)).into_iter();
    let changes = Change::ALL.map(|it| {
        json!({"word": it.word(), "legend": it.legend(), "below": it.below(), "colours": it.colours()})
    });
    let mut all = json!({
        "version": env!("CARGO_PKG_VERSION"),
        "title": title(query),
        "caveats": caveats::lines(&query.caveats(), query.each.len()),
        "mode": mode_name(query.settings.mode),
        "modes": modes.map(mode_name),
        "compares": compares.iter().map(|it| it.word()).collect::<Vec<_>>(),
        "sides": sides(query),
        "changes": changes,
        "metrics": metrics,
        "shown": shown,
        "views": views.map(|view| json!([view.title(), view.name()])).collect::<Vec<_>>(),
        "variants": variants,
        "timeline": data::whole(&timeline::of_run(query)),
    });
    if choice.redacts {
        redact(&mut all);
    }
    all
}

/// The names of the experiments, with `--` between sides of several recordings.
pub(super) fn title(query: &Query<'_>) -> String {
    let between = if query.groups().have_several() {
        " -- "
    } else {
        ", "
    };
    sides(query).join(between)
}

/// The names of the experiments of each side.
fn sides(query: &Query<'_>) -> Vec<String> {
    let names = query.each.iter().map(|it| it.analysis.name.as_str());
    let sides = query.groups().split(names).into_iter();
    sides.map(|side| side.join(", ")).collect()
}

/// The same query under other settings, with every metric as a value and a percentage.
fn under<'a>(query: &Query<'a>, settings: &'a Settings) -> Query<'a> {
    let source = |source: &Source<'a>| Source {
        settings,
        ..*source
    };
    let column = |quantity| metrics::Column {
        quantity,
        value: true,
        percent: true,
    };
    let metrics = query.all.analysis.available().metrics().iter();
    let times = metrics.flat_map(|&metric| {
        [Flavour::Exclusive, Flavour::Inclusive].map(|it| column(Quantity::Time(it, metric)))
    });
    let name = metrics::Column {
        percent: false,
        ..column(Quantity::Name)
    };
    let each: Vec<Source<'a>> = query.each.iter().map(source).collect();
    let columns = times.chain([name]).collect();
    Query::new(
        settings,
        source(&query.all),
        &each,
        columns,
        query.request.sort,
    )
    .grouped(query.groups().clone())
}

/// The documents of one mode.
fn variant(query: &Query<'_>, choice: Choice) -> Json {
    let mut documents = Map::new();
    for view in View::of_page(Recorded::of(query)) {
        let document = match view {
            View::Races => Some(races::in_full(query, choice.has_sources)),
            view => view.document(query).map(|mut document| {
                average(&mut document);
                without_small(document)
            }),
        };
        if let Some(document) = document {
            documents.insert(view.name().to_owned(), data::document(&document));
        }
    }
    let (places, sources) = sources(query, choice);
    json!({"documents": documents, "places": places, "sources": sources})
}

/// A document without the rows that cannot be seen beside the others, where there are many.
fn without_small(mut document: Document) -> Document {
    let tables = document.blocks.iter().map(|block| match block {
        Block::Table(table) => table.rows.len(),
        Block::Lines(_) => 0,
    });
    if tables.sum::<usize>() > MOST_ROWS {
        prune(&mut document, Least::Percent(SMALL));
    }
    document
}

/// Where functions are written, as the number of a source and a line; and the sources.
fn sources(query: &Query<'_>, choice: Choice) -> (Json, Json) {
    let (mut places, mut sources) = (Map::new(), Vec::new());
    if !choice.has_sources {
        return (Json::Object(places), json!(sources));
    }
    let mut numbers = BTreeMap::<FileId, Option<usize>>::new();
    let side = query.sides().first().unwrap_or(&query.all);
    let names = side.names();
    let list = Kind::Functions.list(side, &query.request);
    for row in &list.rows {
        let named = Named {
            name: row.name.clone(),
            number: None,
        };
        let Ok((file, _)) = find::file(&names, &named) else {
            continue;
        };
        let known = numbers.get(&file).copied();
        let number = known.unwrap_or_else(|| {
            let mut document = (sources.len() < MOST_FILES)
                .then(|| crate::source::source(query, &named).ok())
                .flatten()?;
            average(&mut document);
            sources.push(data::document(&near_time(document)));
            Some(sources.len() - 1)
        });
        numbers.insert(file, number);
        if let Some(number) = number {
            let function = find::symbol(&names, row);
            let source = function.and_then(|(_, function)| function.source);
            let line = source.filter(|at| at.file == file).map_or(0, |at| at.line);
            places.insert(row.name.clone(), json!([number, line]));
        }
    }
    (Json::Object(places), json!(sources))
}

/// A source without the lines far from any time.
fn near_time(mut document: Document) -> Document {
    for block in &mut document.blocks {
        if let Block::Table(table) = block
            && table.style == Style::Annotated
        {
            keep_near_time(table);
        }
    }
    document
}

fn keep_near_time(table: &mut Table) {
    let metrics: Vec<usize> = (0..table.columns.len())
        .filter(|&at| table.columns[at].quantity.is_some())
        .collect();
    let has_time = |row: &Row| {
        let mut sides = row.values.iter();
        sides.any(|side| metrics.iter().any(|&at| side[at].is_told()))
    };
    let mut is_kept = vec![false; table.rows.len()];
    for at in (0..table.rows.len()).filter(|&at| has_time(&table.rows[at])) {
        let end = (at + AROUND + 1).min(is_kept.len());
        is_kept[at.saturating_sub(AROUND)..end].fill(true);
    }
    let mut kept = is_kept.into_iter();
    table.rows.retain(|_| kept.next().unwrap_or(false));
}

/// Takes the folders out of the paths in all texts but those of sources.
fn redact(value: &mut Json) {
    match value {
        Json::String(text) => *text = without_folders(text),
        Json::Array(values) => values.iter_mut().for_each(redact),
        Json::Object(fields) => {
            let is_source = fields.contains_key("annotated");
            for (key, value) in fields.iter_mut() {
                if !(is_source && key == "names") {
                    redact(value);
                }
            }
        }
        Json::Null | Json::Bool(_) | Json::Number(_) => {}
    }
}

/// A text whose absolute paths lose all but their last part: `/home/a/x.c:7` becomes `.../x.c:7`.
fn without_folders(text: &str) -> String {
    let mut written = String::with_capacity(text.len());
    let mut rest = text;
    let mut before = ' ';
    while let Some(letter) = rest.chars().next() {
        let is_path = letter == '/' && !before.is_alphanumeric() && !"._-/<>*".contains(before);
        if is_path {
            let ends = |it: char| it.is_whitespace() || "\"'`,;:()[]<>|".contains(it);
            let length = rest.find(ends).unwrap_or(rest.len());
            let (path, after) = rest.split_at(length);
            let cut = path.trim_end_matches('/').rfind('/').unwrap_or(0);
            written.push_str(if cut > 0 { "..." } else { "" });
            written.push_str(&path[cut..]);
            before = path.chars().next_back().unwrap_or(' ');
            rest = after;
        } else {
            written.push(letter);
            before = letter;
            rest = &rest[letter.len_utf8()..];
        }
    }
    written
}

#[cfg(test)]
mod tests {
    use super::without_folders;

    #[test]
    fn paths_lose_their_folders_and_other_texts_stay() {
        for (text, expected) in [
            ("/home/a/x.c:7", ".../x.c:7"),
            ("file '/opt/lib/libm.so.6', 3", "file '.../libm.so.6', 3"),
            ("./app /data/in put /tmp", "./app .../in put /tmp"),
            ("a/b and 1 / 2", "a/b and 1 / 2"),
            ("/", "/"),
            ("é/x/y", "é/x/y"),
        ] {
            assert_eq!(without_folders(text), expected);
        }
    }
}
