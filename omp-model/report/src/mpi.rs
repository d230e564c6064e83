//! `mpi`, `pgas`, `pairs`, `memory`: calls between ranks by function, class, pair of ranks or memory, how long they took and
//! how much they moved.

use std::collections::BTreeMap;

use ::mpi::pgas::{Bytes, Class, pgas as pgas_row};
use experiment::rows::MpiCall;
use omp_model::mpi::functions::{self, Calls, FunctionRow, Key, grouped};
use omp_model::mpi::ranks::{RankId, Ranks};
use omp_model::views::TOTAL;
use omp_model::views::compare::join::Joined;
use omp_model::views::openmp::locations::ConstructLocation;
use serde_json::{Value as Json, json};

use crate::constructs::location_fields;
use crate::document::{
    Block, Column, Document, InJson, Role, Row, Style, Table, TablePart, Unit, Value,
};
use crate::list::{self, Field};
use crate::query::{Query, Source};

mod pairs;

/// A column of functions.
type CallField<'a> = Field<'a, FunctionRow>;

/// What a row of a list is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Of {
    Function,
    Class,
    Pair,
    Memory,
}

/// What calls are listed by.
#[derive(Clone, Copy, Debug)]
struct Listing {
    of: Of,
    /// The report's name.
    view: &'static str,
    title: &'static str,
    key: fn(&MpiCall, RankId) -> Option<Key>,
    /// The largest come first by this.
    weight: fn(&FunctionRow) -> f64,
    /// What stands in place of a table without calls.
    empty: &'static str,
}

/// The functions of MPI, then the calls in the program with most time.
pub(crate) fn mpi(query: &Query<'_>) -> Document {
    let listing = Listing {
        of: Of::Function,
        view: "mpi",
        title: "Functions of MPI by their time",
        key: Key::of_function,
        weight: |row| row.of_all.seconds,
        empty: "No MPI calls were recorded",
    };
    listed_by(query, listing)
}

/// One-sided operations and other calls of partitioned global address spaces, by interface and class.
pub(crate) fn pgas(query: &Query<'_>) -> Document {
    let listing = Listing {
        of: Of::Class,
        view: "pgas",
        title: "One-sided operations by interface and class",
        key: Key::of_class,
        weight: |row| row.of_all.seconds,
        empty: "No one-sided operations were recorded",
    };
    let mut document = listed_by(query, listing);
    document.notices.extend(untold(query));
    document
}

/// The same by the calling rank and the one whose memory is accessed, then messages by sender and receiver: most bytes
/// first.
pub(crate) fn pairs(query: &Query<'_>) -> Document {
    let listing = Listing {
        of: Of::Pair,
        view: "pairs",
        title: "Accesses by rank and the rank whose memory it is, by their bytes",
        key: Key::of_pair,
        weight: |row| (row.of_all.sent + row.of_all.received) as f64 + row.of_all.seconds * 1e-6,
        empty: "No accesses to the memory of one other rank were recorded",
    };
    let mut document = listed_by(query, listing);
    document.notices.extend(untold(query));
    let (messages, json) = pairs::messages(query);
    document.blocks.extend(messages.map(Block::Table));
    document.more.insert("messages".to_owned(), json);
    document
}

/// The same by variable or allocation.
pub(crate) fn memory(query: &Query<'_>) -> Document {
    let listing = Listing {
        of: Of::Memory,
        view: "memory",
        title: "Memory that other ranks access, by the time of calls",
        key: Key::of_object,
        weight: |row| row.of_all.seconds,
        empty: "No accesses to the memory of other ranks were recorded",
    };
    listed_by(query, listing)
}

/// What the rows of one-sided operations are short of.
fn untold(query: &Query<'_>) -> Vec<String> {
    let calls = &query.all.analysis.experiment.mpi_calls;
    // Functions whose bytes are not known, and those of which only what they give is.
    let mut untold = [BTreeMap::<u16, u64>::new(), BTreeMap::new()];
    let mut without_peer = 0;
    for call in calls.iter() {
        let bytes = pgas_row(call.function).map(|row| row.bytes);
        let kind = match bytes {
            Some(Bytes::Unknown) => Some(0),
            Some(Bytes::Collect(..)) => Some(1),
            _ => None,
        };
        if let Some(kind) = kind {
            *untold[kind].entry(call.function).or_default() += u64::from(call.count);
        }
        let class = ::mpi::class(call.function);
        let is_access = matches!(class, Some(Class::Get | Class::Put | Class::Atomic));
        without_peer += u64::from(is_access && call.peer == 0);
    }
    let what = ["they move", "they get from other ranks"];
    let sentences = untold.iter().zip(what).filter_map(|(of, what)| {
        let names: Vec<String> = of.keys().map(|it| functions::name(*it)).collect();
        let calls = match of.values().sum() {
            0_u64 => return None,
            1 => "1 call".to_owned(),
            count => format!("{count} calls"),
        };
        Some(format!(
            "{calls} of {}: the bytes that {what} are not known, and are in no sum",
            names.join(", ")
        ))
    });
    let mut said: Vec<String> = sentences.collect();
    if without_peer > 0 {
        let accesses = match without_peer {
            1 => "1 access does not tell the other rank: it is in no pair".to_owned(),
            count => format!("{count} accesses do not tell the other rank: they are in no pair"),
        };
        said.push(accesses);
    }
    said
}

/// Calls by function, class, pair or memory, then the calls in the program with most time.
fn listed_by(query: &Query<'_>, listing: Listing) -> Document {
    let ranks = query.all.analysis.ranks();
    let has_ranks = !query.is_comparison() && ranks.len() > 1;
    let fields = fields(&ranks, has_ranks, &listing);
    let own: &[&str] = if listing.of == Of::Memory {
        &["allocated"]
    } else {
        &[]
    };
    let columns: Vec<&str> = if query.is_comparison() {
        COMPARED.to_vec()
    } else {
        let by_rank: &[&str] = if has_ranks { &BY_RANK } else { &[] };
        COLUMNS.iter().chain(own).chain(by_rank).copied().collect()
    };
    let mut joined = list::by_name(
        query,
        query
            .sides()
            .iter()
            .map(|side| of_source(side, &listing))
            .collect(),
        |row| row.name.clone(),
    );
    list::sort(query, &mut joined, listing.weight);
    let totals = (0..query.sides().len()).map(|side| {
        let rows = joined.iter().filter_map(move |it| it.rows[side].as_ref());
        FunctionRow::total(rows)
    });
    let total = Joined {
        name: TOTAL.to_owned(),
        rows: totals.collect(),
    };
    let has_calls = total.rows.iter().any(Option::is_some);
    joined.truncate(query.limited(joined.len()));
    let blocks = by_function(query, &joined, &listing)
        .into_iter()
        .chain(sites(query, &joined));
    let shown = list::rows(&joined, &fields);
    let mut rows = list::rows(&[total], &fields);
    rows[0].role = Role::Sum;
    rows.truncate(usize::from(has_calls));
    rows.extend(shown);
    let table = Table {
        style: if query.is_comparison() {
            Style::Right
        } else {
            Style::Sparse
        },
        compare: query.compare,
        columns: fields.into_iter().map(|field| field.column).collect(),
        parts: vec![TablePart::new("", columns.iter().copied().chain(["name"]))],
        rows,
        empty: without(query, listing.empty),
        ..Table::default()
    };
    Document {
        title: listing.title.to_owned(),
        blocks: [Block::Table(table)].into_iter().chain(blocks).collect(),
        notices: notices(query),
        ..query.document_without_time(listing.view)
    }
}

/// The columns of a text.
const COLUMNS: [&str; 6] = [
    "seconds",
    "calls",
    "mean_us",
    "longest_ms",
    "sent",
    "received",
];

/// Those of several ranks.
const BY_RANK: [&str; 2] = ["most", "most_rank"];

/// Those of a comparison.
const COMPARED: [&str; 4] = ["seconds", "calls", "sent", "received"];

/// The rows of a source.
fn of_source(source: &Source<'_>, listing: &Listing) -> Vec<FunctionRow> {
    match source.settings.filter {
        Some(_) => Vec::new(),
        None => {
            let analysis = source.analysis;
            grouped(
                &analysis.experiment.mpi_calls,
                &source.names(),
                &analysis.ranks(),
                listing.key,
            )
        }
    }
}

/// What stands in place of a table without calls.
pub(crate) fn without_calls(query: &Query<'_>) -> String {
    without(query, "No MPI calls were recorded")
}

fn without(query: &Query<'_>, empty: &str) -> String {
    match query.settings.filter {
        Some(_) => "No MPI call: they are counted for the whole run, which the filter is not",
        None => empty,
    }
    .to_owned()
}

/// What a reader must know of the ranks before he believes sums over them.
pub(crate) fn notices(query: &Query<'_>) -> Vec<String> {
    let ranks = query.all.analysis.ranks();
    if query.is_comparison() || query.all.analysis.experiment.mpi_calls.is_empty() {
        return Vec::new();
    }
    let mut said = Vec::new();
    let missing: Vec<RankId> = ranks.missing().collect();
    if !missing.is_empty() {
        let has = if missing.len() == 1 { "has" } else { "have" };
        let names = listed(&ranks, &missing);
        said.push(format!("{names} {has} no recording among the open ones"));
    }
    for (id, recording) in ranks.all() {
        if let Some(cut) = recording.and_then(|it| it.cut.as_deref()) {
            let name = ranks.name(id);
            said.push(format!("{name} {cut}: what it did later is not known"));
        }
        if let Some(lost) = recording.and_then(|it| it.lost_from) {
            said.push(format!(
                "records of {} were lost from {:.3} s on: its calls of MPI may be incomplete (header)",
                ranks.name(id),
                lost.seconds()
            ));
        }
    }
    if ranks.nameless() > 0 {
        said.push(format!(
            "{} of the open experiments do not tell which rank they are: each counts as a run by itself",
            ranks.nameless()
        ));
    }
    said
}

/// The most ranks that a sentence names.
const NAMED: usize = 8;

/// `ranks 1, 2 and 5 more`.
pub(crate) fn listed(ranks: &Ranks<'_>, ids: &[RankId]) -> String {
    if let [only] = ids {
        return ranks.name(*only);
    }
    let names = ids.iter().take(NAMED).map(|id| ranks.number(*id));
    let names: Vec<String> = names.collect();
    match ids.len().saturating_sub(NAMED) {
        0 => format!("ranks {}", names.join(", ")),
        more => format!("ranks {} and {more} more", names.join(", ")),
    }
}

/// The columns, in the order of JSON.
fn fields<'a>(ranks: &Ranks<'a>, has_ranks: bool, listing: &Listing) -> Vec<CallField<'a>> {
    let ranks = ranks.clone();
    let most = |row: &FunctionRow| row.by_rank.first().copied();
    let mut fields = vec![
        seconds("seconds", "Time", |it| it.seconds),
        count("calls", "Calls", ["Calls", ""], |it| it.count),
        CallField::number("mean_us", "A call", |row| {
            Value::Number(row.of_all.mean() * 1e6)
        })
        .heading(["A call", "us"]),
        CallField::number("longest_ms", "Longest", |row| {
            Value::Number(row.of_all.longest * 1e3)
        })
        .heading(["Longest", "ms"]),
        bytes("sent", "Sent", |it| it.sent),
        bytes("received", "Received", |it| it.received),
    ];
    if listing.of == Of::Memory {
        fields.push(bytes("allocated", "Allocated", |it| it.allocated));
    }
    if has_ranks {
        let seconds_of_most =
            move |row: &FunctionRow| Value::known(most(row).map(|(_, calls)| calls.seconds));
        fields.push(
            CallField::number("most", "Most", seconds_of_most)
                .seconds()
                .heading(["Most", "sec."]),
        );
        fields.push(
            CallField::new("most_rank", "Rank", move |row| {
                most(row).map_or(Value::Absent, |(rank, _)| Value::Text(ranks.number(rank)))
            })
            .heading(["in", "rank"])
            .json(InJson::Nowhere),
        );
    }
    if listing.of != Of::Function {
        fields.push(CallField::new("is", "", |row| Value::Json(what(row.key))));
        fields.push(CallField::new("functions", "", |row| {
            let of = |(function, calls): &(u16, Calls)| {
                let mut object = in_json(calls);
                object["name"] = json!(functions::name(*function));
                object
            };
            Value::Json(row.functions.iter().map(of).collect())
        }));
    }
    fields.push(CallField::new("by_rank", "", |row| {
        let of = |(rank, calls): &(RankId, Calls)| {
            let mut object = in_json(calls);
            object["rank"] = json!(rank.number);
            object["job"] = json!(rank.job + 1);
            object
        };
        Value::Json(row.by_rank.iter().map(of).collect())
    }));
    fields.push(CallField::new("sites", "", |row| {
        let of = |(at, calls): &(ConstructLocation, Calls)| {
            let mut object = in_json(calls);
            if let Json::Object(fields) = &mut object {
                fields.extend(location_fields(at));
            }
            object
        };
        Value::Json(row.sites.iter().map(of).collect())
    }));
    fields.push(CallField::of(Column::name(), |_| Value::Absent));
    fields
}

/// What a row is, for JSON.
fn what(key: Option<Key>) -> Json {
    let rank = |id: RankId| json!({"rank": id.number, "job": id.job + 1});
    match key {
        Some(Key::Class(interface, class)) => {
            json!({"interface": interface.word(), "class": class.name()})
        }
        Some(Key::Pair(from, to)) => {
            json!({"from": rank(from), "to": rank(to), "is_local": from == to})
        }
        _ => Json::Null,
    }
}

fn in_json(calls: &Calls) -> Json {
    json!({
        "calls": calls.count,
        "seconds": calls.seconds,
        "longest": calls.longest,
        "sent": calls.sent,
        "received": calls.received,
    })
}

fn seconds<'a>(id: &str, heading: &str, value: fn(&Calls) -> f64) -> CallField<'a> {
    let field = CallField::number(id, heading, move |row| Value::Number(value(&row.of_all)));
    field.seconds().heading([heading, "sec."])
}

fn count<'a>(id: &str, label: &str, heading: [&str; 2], value: fn(&Calls) -> u64) -> CallField<'a> {
    CallField::number(id, label, move |row| Value::Count(value(&row.of_all)))
        .heading(heading)
        .decimals(0)
}

fn bytes<'a>(id: &str, heading: &str, value: fn(&Calls) -> u64) -> CallField<'a> {
    let mut field = count(id, heading, [heading, "bytes"], value);
    field.column.unit = Unit::Bytes;
    field
}

/// The most calls in the program that a text lists.
const MOST: usize = 20;

/// `MPI_Recv at solver.c:88 (exchange)`.
pub(crate) fn at(function: &str, site: &ConstructLocation) -> String {
    format!("{function} at {}", place(site))
}

/// `solver.c:88 (exchange)`.
pub(crate) fn place(site: &ConstructLocation) -> String {
    let short = site.short();
    match (&site.function, site.line) {
        (Some(function), Some(_)) => format!("{short} ({function})"),
        (None, None) => "an unknown call".to_owned(),
        _ => short,
    }
}

/// The functions of a list of classes, which JSON has in each row.
fn by_function(
    query: &Query<'_>,
    joined: &[Joined<FunctionRow>],
    listing: &Listing,
) -> Option<Block> {
    if query.is_comparison() || listing.of != Of::Class {
        return None;
    }
    let rows = joined.iter().filter_map(|it| it.rows[0].as_ref());
    let functions = rows.flat_map(|row| row.functions.iter());
    let mut functions: Vec<(String, Calls)> = functions
        .map(|(function, calls)| (functions::name(*function), *calls))
        .collect();
    functions.sort_by(|one, other| other.1.seconds.total_cmp(&one.1.seconds));
    functions.truncate(query.limited(MOST.min(functions.len())));
    table_of(functions, "The functions with most time")
}

/// A table of calls under a title; `None` without rows.
fn table_of(rows: Vec<(String, Calls)>, title: &str) -> Option<Block> {
    let column = |id: &str, heading: [&str; 2], unit, decimals| Column {
        heading: heading.map(str::to_owned).into(),
        unit,
        decimals,
        json: InJson::Nowhere,
        ..Column::fact(id)
    };
    let columns = vec![
        column("seconds", ["Time", "sec."], Unit::Seconds, 3),
        column("calls", ["Calls", ""], Unit::None, 0),
        column("mean_us", ["A call", "us"], Unit::None, 3),
        column("longest_ms", ["Longest", "ms"], Unit::None, 3),
        column("sent", ["Sent", "bytes"], Unit::Bytes, 0),
        column("received", ["Received", "bytes"], Unit::Bytes, 0),
        Column::name(),
    ];
    let row = |(name, calls): (String, Calls)| Row {
        values: vec![vec![
            Value::Number(calls.seconds),
            Value::Count(calls.count),
            Value::Number(calls.mean() * 1e6),
            Value::Number(calls.longest * 1e3),
            Value::Count(calls.sent),
            Value::Count(calls.received),
            Value::Absent,
        ]],
        ..Row::named(name)
    };
    (!rows.is_empty()).then(|| {
        Block::Table(Table {
            style: Style::Sparse,
            columns,
            parts: vec![TablePart::new(
                title,
                COLUMNS.iter().copied().chain(["name"]),
            )],
            rows: rows.into_iter().map(row).collect(),
            ..Table::default()
        })
    })
}

/// The calls in the program with most time, which JSON has in each row.
fn sites(query: &Query<'_>, joined: &[Joined<FunctionRow>]) -> Option<Block> {
    if query.is_comparison() {
        return None;
    }
    let rows = joined.iter().filter_map(|it| it.rows[0].as_ref());
    let mut sites: Vec<(String, Calls)> = rows
        .flat_map(|row| {
            let sites = row.sites.iter();
            sites.map(|(site, calls)| (at(&row.name, site), *calls))
        })
        .collect();
    sites.sort_by(|one, other| other.1.seconds.total_cmp(&one.1.seconds));
    sites.truncate(query.limited(MOST.min(sites.len())));
    table_of(sites, "The calls in the program with most time")
}
