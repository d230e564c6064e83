//! `critical`: the critical path through the ranks, and what it consists of.

use omp_model::mpi::critical::Path;
use omp_model::mpi::meanwhile::Does;
use omp_model::mpi::ranks::{RankId, Ranks};
use serde_json::{Map, json};

use crate::causes::study;
use crate::clocks;
use crate::document::{Block, Column, Document, InJson, Line, Row, Style, Table, TablePart, Value};
use crate::json;
use crate::mpi::{notices, without_calls};
use crate::parts::{PartRow, table};
use crate::query::Query;

/// The path's parts by rank and function, then by rank.
pub(crate) fn critical(query: &Query<'_>) -> Document {
    let query = query.added_up();
    let ranks = query.all.analysis.ranks();
    let studied = study(&query, &ranks);
    let has_calls = studied.is_some();
    let path = studied.and_then(|it| it.1.path);
    let parts = path.iter().flat_map(|path| &path.parts);
    let parts = parts.map(|part| PartRow {
        seconds: part.seconds,
        charged: Default::default(),
        part: Some(part.clone()),
    });
    let share = (
        path.as_ref().map_or(0.0, |it| it.seconds),
        ["% of the", "run"],
    );
    let (mut table, small) = table(&query, &ranks, parts.collect(), share, Vec::new());
    table.empty = if has_calls {
        "The path is not known".to_owned()
    } else {
        without_calls(&query)
    };
    let mut blocks = vec![Block::Table(table)];
    let mut said = notices(&query);
    said.extend(small);
    match &path {
        Some(path) => {
            blocks.push(Block::Table(by_rank(&query, &ranks, path)));
            blocks.push(Block::Lines(lines(&ranks, path)));
            said.extend(clocks::notice(&ranks));
        }
        None if has_calls => said.push(why_not(&ranks)),
        None => (),
    }
    Document {
        title: "The critical path through the ranks".to_owned(),
        blocks,
        more: more(path.as_ref()),
        notices: said,
        ..query.document_without_time("critical")
    }
}

/// Why no path is shown.
fn why_not(ranks: &Ranks<'_>) -> String {
    let recorded = ranks.all().filter(|it| it.1.is_some());
    if ranks.jobs() > 1 {
        "several jobs have no path in common: open the ranks of one"
    } else if recorded.count() < 2 {
        "a path through the ranks needs the recordings of two ranks or more"
    } else {
        "nothing tells how far the clocks of the ranks' hosts are apart, so the path is not shown"
    }
    .to_owned()
}

/// What the path takes of each rank, which JSON has elsewhere.
fn by_rank(query: &Query<'_>, ranks: &Ranks<'_>, path: &Path) -> Table {
    let column = |id: &str, heading: [&str; 2], decimals| Column {
        heading: heading.map(str::to_owned).into(),
        decimals,
        json: InJson::Nowhere,
        ..Column::fact(id)
    };
    let columns = vec![
        column("seconds", ["Time", "sec."], 3),
        column("share", ["% of the", "run"], 2),
        column("times", ["Comes", "to it"], 0),
        Column::name(),
    ];
    let row = |&(rank, seconds, times): &(RankId, f64, u64)| Row {
        values: vec![vec![
            Value::Number(seconds),
            Value::Number(100.0 * seconds / path.seconds),
            Value::Count(times),
            Value::Absent,
        ]],
        ..Row::named(ranks.name(rank))
    };
    let shown = query.limited(path.by_rank.len());
    Table {
        style: Style::Sparse,
        columns,
        parts: vec![TablePart::new(
            "The path by rank",
            ["seconds", "share", "times", "name"],
        )],
        rows: path.by_rank.iter().take(shown).map(row).collect(),
        ..Table::default()
    }
}

fn lines(ranks: &Ranks<'_>, path: &Path) -> Vec<Line> {
    let (first, last) = (ranks.name(path.first), ranks.name(path.last));
    let ends = if path.first == path.last {
        format!("ends and begins in {first}")
    } else {
        format!("ends in {last} and begins in {first}")
    };
    let later = if path.later >= 0.0005 {
        format!(
            ", whose recording began {:.3} s after the first one",
            path.later
        )
    } else {
        String::new()
    };
    let mut lines = vec![Line::plain(format!(
        "The path is as long as the run, {:.3} s; it {ends}{later}",
        path.seconds
    ))];
    let inferred = path.parts.iter();
    let inferred = inferred.filter(|it| it.does == Does::Computes && it.samples == Some(0));
    let seconds: f64 = inferred.map(|it| it.seconds).sum();
    if seconds >= 0.01 * path.seconds {
        lines.push(Line::plain(format!(
            "Of {seconds:.3} s that ranks computed no sample tells the function"
        )));
    }
    lines
}

fn more(path: Option<&Path>) -> Map<String, serde_json::Value> {
    let by_rank = path.map(|path| {
        let of = |&(rank, seconds, times): &(RankId, f64, u64)| json!({"rank": rank.number, "seconds": seconds, "times": times});
        path.by_rank.iter().map(of).collect::<Vec<_>>()
    });
    json::fields([
        ("by_rank", json!(by_rank)),
        ("seconds", json!(path.map(|it| it.seconds))),
    ])
}
