//! `waits`: which rank waited for which in MPI, why, and what that one did meanwhile.

use omp_model::mpi::meanwhile::{Does, Meanwhile};
use omp_model::mpi::ranks::{RankId, Ranks};
use omp_model::mpi::waits::{Kind, WaitRow, Waited, Waits, rows, waits as view};
use omp_model::views::TOTAL;
use omp_model::views::compare::join::Joined;
use serde_json::{Map, Value as Json, json};

use crate::document::{
    Block, Column, Document, InJson, Line, Role, Style, Table, TablePart, Unit, Value,
};
use crate::json;
use crate::list::{self, Field};
use crate::mpi::{at, notices, without_calls};
use crate::parts::id;
use crate::query::Query;
use crate::unmatched;

/// A column of waits.
type WaitField<'a> = Field<'a, WaitRow>;

/// The waits by cause and call, and sentences on the largest.
pub(crate) fn waits(query: &Query<'_>) -> Document {
    let query = query.added_up();
    let analysis = query.all.analysis;
    let experiment = &analysis.experiment;
    let ranks = analysis.ranks();
    let has_calls = !experiment.mpi_calls.is_empty() && query.settings.filter.is_none();
    let waits = if has_calls {
        view(experiment, &ranks)
    } else {
        Waits::default()
    };
    let rows = rows(&waits.all, &query.all.names(), &ranks);
    let recorded = ranks.all().filter_map(|(_, recording)| recording);
    let elapsed: f64 = recorded.map(|it| it.duration.seconds()).sum();
    let total: f64 = rows.iter().map(|row| row.seconds).sum();
    let lines = lines(&ranks, &rows, elapsed);
    let fields = fields(&ranks, elapsed);
    let alone = |row: WaitRow| Joined {
        name: name(&row),
        rows: vec![Some(row)],
    };
    let count = rows.len();
    let sum = total_of(&rows);
    let joined: Vec<Joined<WaitRow>> = rows
        .into_iter()
        .take(query.limited(count))
        .map(alone)
        .collect();
    let mut shown = list::rows(sum.as_slice(), &fields);
    for row in &mut shown {
        row.role = Role::Sum;
    }
    shown.extend(list::rows(&joined, &fields));
    let table = Table {
        style: Style::Sparse,
        columns: fields.into_iter().map(|field| field.column).collect(),
        parts: vec![TablePart::new("", COLUMNS)],
        rows: shown,
        empty: if has_calls {
            "No wait between ranks was found".to_owned()
        } else {
            without_calls(&query)
        },
        ..Table::default()
    };
    let mut blocks = vec![Block::Table(table)];
    if !lines.is_empty() {
        blocks.push(Block::Lines(lines));
    }
    let mut said = notices(&query);
    if has_calls {
        said.extend(unmatched::notices(&ranks, &waits.matched));
        said.extend(limits(&waits));
        said.extend(error(sum.as_slice()));
    }
    Document {
        title: "Waits of MPI by their time".to_owned(),
        blocks,
        more: more(&waits, has_calls.then_some(total), elapsed),
        notices: said,
        ..query.document_without_time("waits")
    }
}

/// The columns of a text.
const COLUMNS: [&str; 9] = [
    "seconds",
    "share",
    "count",
    "longest_ms",
    "waiter",
    "waiter_seconds",
    "peer",
    "peer_seconds",
    "name",
];

/// `late sender, MPI_Recv at ring.c:20 (exchange)`.
fn name(row: &WaitRow) -> String {
    format!("{}, {}", words(row.kind), at(&row.function, &row.site))
}

/// The cause in words.
const fn words(kind: Kind) -> &'static str {
    match kind {
        Kind::LateSender => "late sender",
        Kind::LateReceiver => "late receiver",
        Kind::Barrier => "barrier",
        Kind::Collective => "collective",
        Kind::LateRoot => "late root",
        Kind::EarlyRoot => "early root",
        Kind::Fence => "fence",
        Kind::LatePost => "late post",
        Kind::LateComplete => "late complete",
        Kind::Lock => "lock",
    }
}

/// All of them; `None` if there is none.
fn total_of(rows: &[WaitRow]) -> Option<Joined<WaitRow>> {
    let longest = rows.iter().map(|row| row.longest);
    let longest = longest.max_by(|one, other| one.seconds.total_cmp(&other.seconds))?;
    let mut pairs: Vec<(RankId, RankId, Waited)> = Vec::new();
    for row in rows {
        pairs.extend(&row.pairs);
    }
    Some(Joined {
        name: TOTAL.to_owned(),
        rows: vec![Some(WaitRow {
            count: rows.iter().map(|row| row.count).sum(),
            seconds: rows.iter().map(|row| row.seconds).sum(),
            error: rows.iter().map(|row| row.error).sum(),
            function: String::new(),
            site: Default::default(),
            longest,
            pairs,
            ..rows[0].clone()
        })],
    })
}

/// The columns, in the order of JSON.
fn fields<'a>(ranks: &Ranks<'a>, elapsed: f64) -> Vec<WaitField<'a>> {
    let is_total = |row: &WaitRow| row.function.is_empty();
    let [ranks, of_peer] = [ranks.clone(), ranks.clone()];
    let text = |id: &str, heading: [&str; 2], value: Box<dyn Fn(&WaitRow) -> Value + 'a>| {
        WaitField::new(id, "", value)
            .heading(heading)
            .json(InJson::Nowhere)
    };
    vec![
        WaitField::new("kind", "Cause", move |row| {
            if is_total(row) {
                Value::Omitted
            } else {
                Value::Text(words(row.kind).to_owned())
            }
        }),
        WaitField::new("mpi_function", "MPI function", move |row| {
            if is_total(row) {
                Value::Omitted
            } else {
                Value::Text(row.function.clone())
            }
        }),
        WaitField::new("function", "Function", |row| {
            row.site.function.clone().map_or(Value::Absent, Value::Text)
        }),
        WaitField::new("file", "File", |row| {
            row.site.file.clone().map_or(Value::Absent, Value::Text)
        }),
        WaitField::new("line", "Line", |row| {
            Value::counted(row.site.line.map(u64::from))
        }),
        WaitField::number("seconds", "Time", |row| Value::Number(row.seconds))
            .seconds()
            .heading(["Time", "sec."]),
        WaitField::new("error", "", |row| Value::Json(json!(row.error))),
        WaitField::number("share", "% of the ranks' time", move |row| {
            Value::known((elapsed > 0.0).then(|| 100.0 * row.seconds / elapsed))
        })
        .heading(["% of all", "ranks"])
        .decimals(2),
        WaitField::number("count", "Waits", |row| Value::Count(row.count)).heading(["Waits", ""]),
        WaitField::number("longest_ms", "Longest", |row| {
            Value::Number(row.longest.seconds * 1e3)
        })
        .heading(["Longest", "ms"]),
        text(
            "waiter",
            ["Most by", "rank"],
            Box::new(move |row| {
                let first = row.by_rank().first().map(|it| it.0);
                first.map_or(Value::Absent, |id| Value::Text(ranks.number(id)))
            }),
        ),
        seconds_of("waiter_seconds", WaitRow::by_rank),
        text(
            "peer",
            ["Most for", "rank"],
            Box::new(move |row| {
                let first = row.waited_for().first().map(|it| it.0);
                first.map_or(Value::Absent, |id| Value::Text(of_peer.number(id)))
            }),
        ),
        seconds_of("peer_seconds", WaitRow::waited_for),
        WaitField::new("longest", "", |row| {
            let it = row.longest;
            Value::Json(json!({
                "seconds": it.seconds,
                "start": it.start,
                "rank": it.rank.number,
                "for": it.peer.number,
                "job": it.rank.job + 1,
            }))
        }),
        WaitField::new("meanwhile", "", |row| {
            Value::Json(meanwhile(&row.meanwhile()))
        }),
        WaitField::new("pairs", "", move |row| {
            if is_total(row) {
                Value::Omitted
            } else {
                Value::Json(row.pairs.iter().map(pair).collect())
            }
        }),
        WaitField::of(Column::name(), |_| Value::Absent),
    ]
}

/// The seconds of the first rank.
fn seconds_of<'a>(id: &str, ranks: fn(&WaitRow) -> Vec<(RankId, f64)>) -> WaitField<'a> {
    let mut field = WaitField::new(id, "", move |row: &WaitRow| {
        Value::known(ranks(row).first().map(|it| it.1))
    });
    field.column.unit = Unit::Seconds;
    field
        .heading(["", "sec."])
        .decimals(3)
        .json(InJson::Nowhere)
}

fn pair((rank, peer, it): &(RankId, RankId, Waited)) -> Json {
    json!({
        "rank": rank.number,
        "for": peer.number,
        "job": rank.job + 1,
        "seconds": it.seconds,
        "meanwhile": meanwhile(&it.meanwhile),
    })
}

/// What a rank did, in nanoseconds.
fn parts(it: &Meanwhile) -> Vec<(Does, u64)> {
    Does::ALL.map(|does| (does, it.time(does))).into()
}

/// What a rank did, in words.
const fn did(does: Does) -> &'static str {
    match does {
        Does::Computes => "computed",
        Does::Ready => "was ready without a CPU",
        Does::Asleep => "slept outside of MPI",
        Does::Omp => "waited in OpenMP",
        Does::Waits => "waited in MPI itself",
        Does::Mpi => "was in other functions of MPI",
        Does::Unknown => "was not recorded",
    }
}

fn meanwhile(it: &Meanwhile) -> Json {
    let parts = parts(it).into_iter();
    let fields: Map<String, Json> = parts
        .map(|(does, length)| (id(does).to_owned(), json!(length as f64 / 1e9)))
        .collect();
    Json::Object(fields)
}

/// The most waits that a text tells in sentences.
const MOST: usize = 3;

/// A part of the ranks' time from which on a wait is told.
const LEAST: f64 = 0.001;

/// A part of a wait from which on what the other rank did is told.
const PART: f64 = 0.05;

fn lines(ranks: &Ranks<'_>, rows: &[WaitRow], elapsed: f64) -> Vec<Line> {
    let told = rows.iter().filter(|row| row.seconds >= LEAST * elapsed);
    let lines = told.take(MOST).flat_map(|row| {
        let first = row.pairs.first()?;
        Some([
            Line::plain(sentence(ranks, row, first)),
            Line::plain(format!("    {}", told_meanwhile(ranks, first))),
        ])
    });
    lines.flatten().collect()
}

/// `rank 1 waits 0.300 s in MPI_Recv at ring.c:20 (exchange) for messages that rank 0 sends late (0.440 s in all)`.
fn sentence(
    ranks: &Ranks<'_>,
    row: &WaitRow,
    (rank, peer, it): &(RankId, RankId, Waited),
) -> String {
    let peer = ranks.name(*peer);
    let why = match row.kind {
        Kind::LateSender => format!("for messages that {peer} sends late"),
        Kind::LateReceiver => format!("until {peer} posts its receives"),
        Kind::Barrier | Kind::Collective => format!("for {peer}, which comes last"),
        Kind::LateRoot => format!("for {peer}, the root"),
        Kind::EarlyRoot => format!("as the root for {peer}, which comes last"),
        Kind::Fence => format!("at a fence for {peer}, which comes last"),
        Kind::LatePost => format!("for {peer} to grant access to its window"),
        Kind::LateComplete => format!("for {peer} to end its access"),
        Kind::Lock => format!("for a lock that {peer} has"),
    };
    let all = match row.pairs.len() {
        1 => String::new(),
        _ => format!(", of {:.3} s that ranks wait there so", row.seconds),
    };
    format!(
        "{} waits {:.3} s in {} {why}{all}; the longest wait there is {:.3} ms, of {} at {:.3} s",
        ranks.name(*rank),
        it.seconds,
        at(&row.function, &row.site),
        row.longest.seconds * 1e3,
        ranks.name(row.longest.rank),
        row.longest.start,
    )
}

/// `meanwhile rank 0 computed for 0.250 s and waited in MPI itself for 0.050 s`.
fn told_meanwhile(ranks: &Ranks<'_>, (_, peer, it): &(RankId, RankId, Waited)) -> String {
    let mut parts = parts(&it.meanwhile);
    let all: u64 = parts.iter().map(|part| part.1).sum();
    parts.retain(|part| part.1 as f64 >= PART * all as f64);
    parts.sort_by_key(|part| std::cmp::Reverse(part.1));
    let told: Vec<String> = parts
        .iter()
        .map(|(does, length)| format!("{} for {:.3} s", did(*does), *length as f64 / 1e9))
        .collect();
    let told = match told.split_last() {
        Some((last, before)) if !before.is_empty() => format!("{} and {last}", before.join(", ")),
        _ => told.concat(),
    };
    format!("meanwhile {} {told}", ranks.name(*peer))
}

/// How far the times may be off, if ranks have different clocks.
fn error(sum: &[Joined<WaitRow>]) -> Option<String> {
    let sum = sum.first()?.rows.first()?.as_ref()?;
    (sum.error > 0.0).then(|| {
        format!(
            "hosts have different clocks, which are compared by the messages between ranks: each wait for a rank of \
             another host may be longer or shorter, by {:.6} s for all waits together",
            sum.error
        )
    })
}

/// What is not among the waits, and why.
pub(crate) fn limits(waits: &Waits) -> Vec<String> {
    let mut said = Vec::new();
    if waits.matched.apart > 0 {
        said.push(format!(
            "{} messages went between hosts of which nothing tells how far their clocks are apart, as messages both ways \
             would: the waits for them are not shown",
            waits.matched.apart
        ));
    }
    if waits.apart > 0 {
        said.push(format!(
            "of {} collective operations over several hosts the waits are not shown, for the same reason",
            waits.apart
        ));
    }
    if waits.uncertain > 0 {
        said.push(format!(
            "{} waits for ranks of other hosts are shorter than what is known of the clocks, and not shown",
            waits.uncertain
        ));
    }
    if waits.collected.partial > 0 {
        said.push(format!(
            "{} collective operations lack calls of some ranks, as of one that was killed: the waits in them are not shown",
            waits.collected.partial
        ));
    }
    if waits.collected.doubtful > 0 {
        said.push(format!(
            "{} collective operations could not be put together, because ranks called different functions: the waits in \
             them are not shown",
            waits.collected.doubtful
        ));
    }
    said
}

/// How much is known, for JSON.
fn more(waits: &Waits, total: Option<f64>, elapsed: f64) -> Map<String, Json> {
    let unmatched = waits.matched.unmatched.iter().map(|((from, to), it)| {
        json!({
            "from": from.number,
            "to": to.number,
            "job": from.job + 1,
            "sent": it.sent,
            "received": it.received,
        })
    });
    let collected = waits.collected;
    json::fields([
        ("seconds", json!(total)),
        ("ranks_seconds", json!(elapsed)),
        (
            "messages",
            json!({
                "matched": waits.matched.pairs,
                "unmatched": unmatched.collect::<Vec<_>>(),
                "other_clocks": waits.matched.apart,
                "other_sizes": waits.matched.unequal,
            }),
        ),
        (
            "collectives",
            json!({
                "whole": collected.whole,
                "partial": collected.partial,
                "doubtful": collected.doubtful,
                "other_clocks": waits.apart,
            }),
        ),
    ])
}
