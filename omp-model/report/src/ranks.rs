//! `ranks`: the ranks of an MPI program beside each other.

use omp_model::mpi::balance::{Balance, Bounds, RankRow, Spent};
use omp_model::mpi::ranks::{RankId, Ranks};
use serde_json::{Map, Value as Json, json};

use crate::causes::study;
use crate::document::{Block, Column, Document, InJson, Line, Row, Style, Table, Unit, Value};
use crate::json;
use crate::list::{self, Field};
use crate::mpi::{notices, without_calls};
use crate::query::Query;
use crate::{advice, clocks, rank_advice, unmatched};

/// A column of ranks.
type RankField<'a> = Field<'a, RankRow>;

/// The ranks, how even they are, and messages with one end alone.
pub(crate) fn ranks(query: &Query<'_>) -> Document {
    let query = query.added_up();
    let analysis = query.all.analysis;
    let ranks = analysis.ranks();
    let (rows, causes) = study(&query, &ranks).unwrap_or_default();
    let evenness = Balance::of(&rows);
    let bounds = evenness.zip(causes.path.as_ref());
    let bounds = bounds.and_then(|(balance, path)| balance.bounds(path));
    let hybrid = evenness.and_then(|_| query.all.first());
    let hybrid = hybrid.filter(|it| it.run.threads > it.run.processes);
    let quantities = quantities(&rows);
    let joined = list::joined(&query, |_| rows.clone(), |row| ranks.name(row.rank));
    let mut table = list::table(&query, &joined, fields(&ranks));
    table.empty = without_calls(&query);
    let advice = rank_advice::first(&ranks, &rows, &causes);
    let advice = advice.map(|line| Block::Lines(vec![line]));
    let mut blocks: Vec<Block> = advice.into_iter().chain([Block::Table(table)]).collect();
    if let Some(evenness) = evenness {
        blocks.push(Block::Table(extremes(&ranks, &quantities)));
        blocks.push(Block::Lines(lines(&evenness, bounds)));
        blocks.extend(
            hybrid
                .as_ref()
                .map(|it| Block::Table(advice::efficiency(it))),
        );
    }
    let mut notices = notices(&query);
    if !rows.is_empty() {
        notices.extend(unmatched::notices(&ranks, &causes.waits.matched));
        notices.extend(clocks::notices(&ranks));
    }
    let mut more = more(evenness.as_ref(), bounds, &quantities);
    more.insert("clocks".to_owned(), clocks::json(&ranks));
    let mut document = Document {
        blocks,
        more,
        ..query.document_without_time("ranks")
    };
    document.notices.extend(notices);
    document
}

/// The columns, in the order of JSON.
fn fields<'a>(ranks: &Ranks<'_>) -> Vec<RankField<'a>> {
    let has_jobs = ranks.jobs() > 1;
    let mut fields = vec![
        RankField::fact("rank", "Rank", |row| Value::Count(row.rank.number.into())),
        RankField::new("job", "Job", |row| {
            Value::Count(u64::from(row.rank.job) + 1)
        }),
        RankField::fact("host", "Host", |row| {
            let host = row.spent.as_ref().map(|it| it.host.clone());
            host.map_or_else(|| Value::Text("no recording".to_owned()), Value::Text)
        }),
    ];
    if has_jobs {
        fields[1] = RankField::fact("job", "Job", |row| {
            Value::Count(u64::from(row.rank.job) + 1)
        });
    }
    fields.extend(QUANTITIES.iter().map(|quantity| {
        let of = quantity.of;
        let is_time = quantity.unit == Unit::Seconds;
        let value = move |row: &RankRow| {
            row.spent.as_ref().map_or(Value::Absent, |spent| {
                if is_time {
                    Value::Number(of(spent))
                } else {
                    Value::Count(of(spent) as u64)
                }
            })
        };
        let mut field = RankField::number(quantity.id, quantity.label, value)
            .heading(quantity.heading)
            .decimals(if is_time { 3 } else { 0 });
        field.column.unit = quantity.unit;
        field
    }));
    fields.push(RankField::new("cut", "", |row| {
        let cut = row.spent.as_ref().and_then(|it| it.cut.clone());
        cut.map_or(Value::Absent, Value::Text)
    }));
    fields.push(RankField::hidden_name());
    fields
}

/// What is known of each rank as a number.
struct Quantity {
    id: &'static str,
    label: &'static str,
    heading: [&'static str; 2],
    unit: Unit,
    of: fn(&Spent) -> f64,
}

const fn time(
    id: &'static str,
    label: &'static str,
    heading: [&'static str; 2],
    of: fn(&Spent) -> f64,
) -> Quantity {
    Quantity {
        id,
        label,
        heading,
        unit: Unit::Seconds,
        of,
    }
}

const QUANTITIES: [Quantity; 9] = [
    time("elapsed", "Elapsed", ["Elapsed", "sec."], |it| it.elapsed),
    time("work", "Work", ["Work", "sec."], |it| it.work),
    time("mpi", "MPI", ["MPI", "sec."], |it| it.mpi),
    time("mpi_wait", "MPI Wait", ["MPI Wait", "sec."], |it| {
        it.waiting
    }),
    time("ompwait", "OMP Wait", ["OMP Wait", "sec."], |it| {
        it.omp_wait
    }),
    time("offcpu", "Off CPU", ["Off CPU", "sec."], |it| it.off_cpu),
    Quantity {
        unit: Unit::Bytes,
        ..time("sent", "Bytes sent", ["Sent", "bytes"], |it| it.sent as f64)
    },
    Quantity {
        unit: Unit::Bytes,
        ..time("received", "Bytes received", ["Received", "bytes"], |it| {
            it.received as f64
        })
    },
    Quantity {
        unit: Unit::None,
        ..time("messages", "Messages", ["Messages", "sent"], |it| {
            it.messages as f64
        })
    },
];

/// A quantity over the recorded ranks.
struct Extremes {
    quantity: &'static Quantity,
    least: f64,
    mean: f64,
    most: f64,
    /// The rank that has most.
    at: RankId,
}

/// The quantities over the recorded ranks.
fn quantities(rows: &[RankRow]) -> Vec<Extremes> {
    let recorded = || {
        rows.iter()
            .filter_map(|row| Some((row.rank, row.spent.as_ref()?)))
    };
    let of = |quantity: &'static Quantity| {
        let values = || recorded().map(|(rank, spent)| (rank, (quantity.of)(spent)));
        // Of equal ones the first.
        let (at, most) = values().reduce(|best, next| if next.1 > best.1 { next } else { best })?;
        Some(Extremes {
            quantity,
            least: values().map(|it| it.1).fold(most, f64::min),
            mean: values().map(|it| it.1).sum::<f64>() / values().count() as f64,
            most,
            at,
        })
    };
    QUANTITIES.iter().filter_map(of).collect()
}

/// Least, mean and most, which JSON has elsewhere.
fn extremes(ranks: &Ranks<'_>, quantities: &[Extremes]) -> Table {
    let column = |id: &str, heading: &str, decimals| Column {
        heading: vec![heading.to_owned()],
        decimals,
        json: InJson::Nowhere,
        ..Column::fact(id)
    };
    let name = |id: RankId| match ranks.jobs() {
        0 | 1 => id.number.to_string(),
        _ => ranks.name(id),
    };
    let row = |it: &Extremes| Row {
        values: vec![vec![
            Value::Number(it.least),
            Value::Number(it.mean),
            Value::Number(it.most),
            Value::Text(name(it.at)),
            if it.most > 0.0 {
                Value::Text(format!("{:.3}", it.mean / it.most))
            } else {
                Value::Absent
            },
            Value::Absent,
        ]],
        decimals: (it.quantity.unit != Unit::Seconds).then_some(0),
        ..Row::named(it.quantity.label)
    };
    Table {
        style: Style::Ruled,
        columns: vec![
            column("least", "Least", 3),
            column("mean", "Mean", 3),
            column("most", "Most", 3),
            column("at", "of rank", 0),
            column("even", "Mean/Most", 3),
            Column {
                heading: vec!["Of the ranks".to_owned()],
                ..Column::name()
            },
        ],
        rows: quantities.iter().map(row).collect(),
        ..Table::default()
    }
}

fn lines(balance: &Balance, bounds: Option<Bounds>) -> Vec<Line> {
    let mut lines = vec![
        format!(
            "Parallel efficiency of MPI {:.3}: load balance by communication efficiency",
            balance.parallel()
        ),
        format!(
            "Load balance {:.3}: work in the mean of the ranks, as a part of the most that one has",
            balance.load
        ),
        format!(
            "Communication efficiency {:.3}: the most time outside of MPI that a rank has, as a part of the run",
            balance.communication
        ),
    ];
    lines.extend(bounds.map(|it| {
        format!(
            "Of that, transfer efficiency is at least {:.3}, by the time in MPI on the critical path, and serialisation \
             efficiency at most {:.3}",
            it.transfer, it.serialisation
        )
    }));
    lines.into_iter().map(Line::plain).collect()
}

/// The same for JSON.
fn more(
    balance: Option<&Balance>,
    bounds: Option<Bounds>,
    quantities: &[Extremes],
) -> Map<String, Json> {
    let of = |it: &Extremes| {
        let values = json!({
            "least": it.least,
            "mean": it.mean,
            "most": it.most,
            "rank": it.at.number,
            "job": it.at.job + 1,
        });
        (it.quantity.id.to_owned(), values)
    };
    json::fields([
        (
            "over_ranks",
            Json::Object(quantities.iter().map(of).collect()),
        ),
        ("load_balance", json!(balance.map(|it| it.load))),
        (
            "communication_efficiency",
            json!(balance.map(|it| it.communication)),
        ),
        ("parallel_efficiency", json!(balance.map(Balance::parallel))),
        (
            "transfer_efficiency_at_least",
            json!(bounds.map(|it| it.transfer)),
        ),
        (
            "serialisation_efficiency_at_most",
            json!(bounds.map(|it| it.serialisation)),
        ),
    ])
}
