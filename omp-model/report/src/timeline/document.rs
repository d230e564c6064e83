//! A timeline as a document: threads by state over time.

use std::ops::Range;

use serde_json::{Map, Value as Json, json};

use super::activity::Activity;
use super::slots::Slot;
use crate::document::{Block, Column, Document, InJson, Line, Row, Style, Table, Value};
use crate::json::fields;
use crate::lost;
use crate::query::Query;

/// A thread's row.
#[derive(Clone, Debug, PartialEq)]
pub struct TimelineRow {
    /// What the thread is called.
    pub name: String,
    /// What it has in common with others, if rows are grouped.
    pub group: Option<String>,
    /// The columns of time.
    pub slots: Vec<Slot>,
}

/// Some threads in a range of time, in nanoseconds: a letter for the state that most of each slot
/// went to, and in JSON the seconds of each state.
pub fn document(query: &Query<'_>, range: &Range<u64>, rows: &[TimelineRow]) -> Document {
    let (from, to) = (range.start as f64 / 1e9, range.end as f64 / 1e9);
    let mut blocks = Vec::new();
    for group in rows.chunk_by(|left, right| left.group == right.group) {
        if let Some(label) = &group[0].group {
            blocks.push(Block::Lines(vec![Line::strong(label)]));
        }
        blocks.push(Block::Table(table(group)));
    }
    let losses = lost::within(&query.all.analysis.experiment.header, range);
    if !losses.is_empty() {
        let lines = losses.iter().map(lost::line).map(Line::warning);
        blocks.push(Block::Lines(lines.collect()));
    }
    let legend = Activity::ALL.map(|it| Line::plain(format!("  {} {}", it.letter(), it.words())));
    blocks.push(Block::Lines(legend.to_vec()));
    Document {
        title: format!("Timeline from {from:.6} to {to:.6} s"),
        facts: fields([
            ("from", json!(from)),
            ("to", json!(to)),
            ("lost", json!(losses)),
        ]),
        blocks,
        ..query.document("timeline")
    }
}

fn table(rows: &[TimelineRow]) -> Table {
    let name = Column {
        heading: vec!["Thread".to_owned()],
        ..Column::name()
    };
    let states = Column {
        heading: vec!["States".to_owned()],
        json: InJson::Nowhere,
        ..Column::word("states", "States")
    };
    let row = |row: &TimelineRow| {
        let letter = |slot: &Slot| slot.main().map_or(' ', Activity::letter);
        let letters: String = row.slots.iter().map(letter).collect();
        let slots: Json = row.slots.iter().map(slot).collect();
        Row {
            name: row.name.clone(),
            values: vec![vec![
                Value::Absent,
                Value::Text(letters.trim_end().to_owned()),
                Value::Json(slots),
            ]],
            ..Row::default()
        }
    };
    Table {
        style: Style::Ruled,
        columns: vec![name, states, Column::fact("slots")],
        rows: rows.iter().map(row).collect(),
        ..Table::default()
    }
}

fn slot(slot: &Slot) -> Json {
    let times = Activity::ALL.iter().zip(&slot.times);
    let times = times.filter(|(_, time)| **time > 0.0);
    let states: Map<String, Json> = times
        .map(|(activity, time)| (activity.words().to_owned(), json!(time / 1e9)))
        .collect();
    json!({"states": states, "running": slot.running()})
}
