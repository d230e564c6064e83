//! `causes`: what the ranks that wait in MPI wait for in the end: which rank, and what it does in which function.

use omp_model::mpi::balance::{RankRow, balance};
use omp_model::mpi::causes::{Causes, Charged, causes as view};
use omp_model::mpi::meanwhile::Does;
use omp_model::mpi::parts::Job;
use omp_model::mpi::ranks::{RankId, Ranks};
use omp_model::profile::ViewMode;
use serde_json::{Map, Value as Json, json};

use crate::document::{Block, Document, InJson, Value};
use crate::json;
use crate::mpi::{notices, without_calls};
use crate::parts::{PartField, PartRow, id, table};
use crate::query::Query;
use crate::rank_advice::sentences;
use crate::waits::limits;
use crate::{clocks, unmatched};

/// The ranks beside each other, and the causes of their waits; `None` where no calls are known.
pub(crate) fn study(query: &Query<'_>, ranks: &Ranks<'_>) -> Option<(Vec<RankRow>, Causes)> {
    let analysis = query.all.analysis;
    let experiment = &analysis.experiment;
    if experiment.mpi_calls.is_empty() || query.settings.filter.is_some() {
        return None;
    }
    let rows = balance(
        query.all.profile(),
        &experiment.tables,
        &experiment.mpi_calls,
        &experiment.mpi_messages,
        ranks,
    );
    let causes = view(&Job {
        experiment,
        ranks,
        profile: analysis.profile(ViewMode::User, query.settings.inline),
        names: &query.all.names(),
    });
    Some((rows, causes))
}

/// The causes, and above them sentences on the largest.
pub(crate) fn causes(query: &Query<'_>) -> Document {
    let query = query.added_up();
    let ranks = query.all.analysis.ranks();
    let studied = study(&query, &ranks);
    let has_calls = studied.is_some();
    let (rows, causes) = studied.unwrap_or_default();
    let spent = rows.iter().filter_map(|it| it.spent.as_ref());
    let elapsed: f64 = spent.map(|it| it.elapsed).sum();
    let parts = causes.parts.iter().map(|part| PartRow {
        seconds: part.seconds,
        charged: of(&causes, (part.rank, part.does)),
        part: Some(part.clone()),
    });
    let share = (elapsed, ["% of all", "ranks"]);
    let (mut table, small) = table(&query, &ranks, parts.collect(), share, columns());
    table.empty = if has_calls {
        "No wait between ranks was found".to_owned()
    } else {
        without_calls(&query)
    };
    let lines = sentences(&ranks, &rows, &causes);
    let lines = (!lines.is_empty()).then_some(Block::Lines(lines));
    let mut said = notices(&query);
    said.extend(small);
    if has_calls {
        said.extend(unmatched::notices(&ranks, &causes.waits.matched));
        said.extend(limits(&causes.waits));
        said.extend(clocks::notice(&ranks));
    }
    Document {
        title: "Causes of the waits of MPI by their time".to_owned(),
        blocks: lines.into_iter().chain([Block::Table(table)]).collect(),
        more: more(&causes, has_calls, elapsed),
        notices: said,
        ..query.document_without_time("causes")
    }
}

fn of(causes: &Causes, key: (RankId, Does)) -> Charged {
    causes.charged.get(&key).cloned().unwrap_or_default()
}

/// Who waited, which a text has beside the parts.
fn columns<'a>() -> Vec<PartField<'a>> {
    let number = |row: &PartRow, number: usize| match row.part {
        Some(_) => Value::Count(number as u64),
        None => Value::Absent,
    };
    vec![
        PartField::new("waiting_ranks", "Ranks that waited", move |row| {
            number(row, row.charged.waited.len())
        })
        .heading(["Ranks", "waited"])
        .json(InJson::Nowhere),
        PartField::new("farthest", "Ranks away", move |row| {
            number(row, row.charged.farthest)
        })
        .heading(["Ranks", "away"])
        .json(InJson::Nowhere),
    ]
}

/// By rank and what it did, for JSON: who waited.
fn more(causes: &Causes, has_calls: bool, elapsed: f64) -> Map<String, Json> {
    let mut all: Vec<(&(RankId, Does), &Charged)> = causes.charged.iter().collect();
    all.sort_by(|one, other| other.1.seconds().total_cmp(&one.1.seconds()));
    let charged = all.iter().map(|((rank, does), it)| {
        let waited = it.waited.iter();
        let waited = waited.map(|(rank, seconds)| json!({"rank": rank.number, "seconds": seconds}));
        json!({
            "rank": rank.number,
            "job": rank.job + 1,
            "does": id(*does),
            "seconds": it.seconds(),
            "waited": waited.collect::<Vec<_>>(),
            "farthest": it.farthest,
            "chain": it.chain.iter().map(|it| it.number).collect::<Vec<_>>(),
        })
    });
    json::fields([
        ("charged", charged.collect()),
        ("seconds", json!(has_calls.then(|| causes.seconds()))),
        ("ranks_seconds", json!(elapsed)),
    ])
}
