//! All findings below each other, each row with its details.

use std::collections::HashSet;

use experiment::findings::{Deadlock, Divergence, Misuse, Race, Uninitialised};

use super::details::{Detailed, Sources, lines};
use super::list::{Listed, list};
use super::rows::found;
use super::summary::not_checked;
use crate::document::{Block, Document, Line, Target, Value};
use crate::query::Query;

/// The findings of every kind that was looked for, a table each.
pub fn view(query: &Query<'_>) -> Document {
    let mut sources = Sources::new(query);
    let documents = [
        of::<Race>(query, &mut sources),
        of::<Deadlock>(query, &mut sources),
        of::<Misuse>(query, &mut sources),
        of::<Uninitialised>(query, &mut sources),
        of::<Divergence>(query, &mut sources),
    ];
    // A title is one line, which a narrow screen cuts: the note has all of it.
    let not_checked = not_checked(query);
    let title = match &not_checked[..] {
        [] => "Findings of collect -r".to_owned(),
        all => all.join("; "),
    };
    let mut all = Document {
        title,
        notices: not_checked,
        ..query.document_of_findings("races")
    };
    let mut known = HashSet::new();
    for document in documents.into_iter().flatten() {
        all.blocks.extend(document.blocks);
        let notices = document.notices.into_iter();
        all.notices
            .extend(notices.filter(|notice| known.insert(notice.clone())));
    }
    if all.blocks.is_empty() {
        let why = list::<Race>(query).err().map(|error| error.0);
        all.blocks
            .push(Block::Lines(vec![Line::warning(why.unwrap_or_default())]));
    }
    let notices = all
        .notices
        .iter()
        .map(|text| Line::plain(format!("Note: {text}")));
    let notices: Vec<Line> = notices.collect();
    if !notices.is_empty() {
        all.blocks.push(Block::Lines(notices));
    }
    all
}

/// The same with each finding in detail below the tables, with or without lines of source.
pub(crate) fn in_full(query: &Query<'_>, has_sources: bool) -> Document {
    let mut document = view(query);
    let mut sources = if has_sources {
        Sources::new(query)
    } else {
        Sources::none(query)
    };
    let details = [
        all_of::<Race>(query, &mut sources),
        all_of::<Deadlock>(query, &mut sources),
        all_of::<Misuse>(query, &mut sources),
        all_of::<Uninitialised>(query, &mut sources),
        all_of::<Divergence>(query, &mut sources),
    ];
    document.blocks.extend(details.into_iter().flatten());
    document
}

/// The findings of a kind in detail, a block each.
fn all_of<T: Detailed>(query: &Query<'_>, sources: &mut Sources<'_, '_>) -> Vec<Block> {
    let Ok(found) = found::<T>(query) else {
        return Vec::new();
    };
    let rows = found.shown().take(query.limited(found.rows.len()));
    rows.map(|row| Block::Lines(lines(row, query.settings.mode, sources)))
        .collect()
}

/// The findings of a kind; `None` without data on it.
fn of<T: Listed + Detailed>(query: &Query<'_>, sources: &mut Sources<'_, '_>) -> Option<Document> {
    let mut document = list::<T>(query).ok()?;
    let found = found::<T>(query).ok()?;
    for block in &mut document.blocks {
        let Block::Table(table) = block else {
            continue;
        };
        let Some(id) = table.columns.iter().position(|column| column.id == "id") else {
            continue;
        };
        for row in &mut table.rows {
            let number = match row.values.first().and_then(|values| values.get(id)) {
                Some(Value::Count(number)) => *number as usize,
                _ => continue,
            };
            if let Some(numbered) = number.checked_sub(1).and_then(|at| found.rows.get(at)) {
                let detail = numbered.finding.finding(query.settings.mode, sources);
                row.target = Some(Target::Finding(detail));
            }
        }
    }
    Some(document)
}
