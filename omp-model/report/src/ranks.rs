//! `ranks`: the ranks of an MPI program beside each other.

use omp_model::mpi::balance::{Balance, Bounds, RankRow, Spent};
use omp_model::mpi::ranks::Ranks;
use serde_json::{Map, Value as Json, json};

use crate::causes::study;
use crate::document::{Block, Document, Line, Unit, Value};
use crate::json;
use crate::list::{self, Field};
use crate::mpi::{notices, without_calls};
use crate::query::Query;
use crate::rank_spread::{self, Spread};
use crate::{advice, clocks, rank_advice, rank_bars, unmatched};

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
    let quantities = rank_spread::quantities(&rows);
    let joined = list::joined(&query, |_| rows.clone(), |row| ranks.name(row.rank));
    let mut table = list::table(&query, &joined, fields(&ranks));
    table.empty = without_calls(&query);
    let advice = rank_advice::first(&ranks, &rows, &causes);
    let advice = advice.map(|line| Block::Lines(vec![line]));
    let mut blocks: Vec<Block> = advice.into_iter().chain([Block::Table(table)]).collect();
    if let Some(evenness) = evenness {
        blocks.push(Block::Table(rank_spread::table(&ranks, &quantities)));
        blocks.extend(rank_bars::table(&ranks, &rows).map(Block::Table));
        blocks.extend(rank_spread::lines(&ranks, &quantities).map(Block::Lines));
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
pub(crate) struct Quantity {
    pub(crate) id: &'static str,
    pub(crate) label: &'static str,
    heading: [&'static str; 2],
    pub(crate) unit: Unit,
    pub(crate) of: fn(&Spent) -> f64,
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

pub(crate) const QUANTITIES: [Quantity; 9] = [
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
    quantities: &[Spread],
) -> Map<String, Json> {
    json::fields([
        ("over_ranks", rank_spread::json(quantities)),
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
