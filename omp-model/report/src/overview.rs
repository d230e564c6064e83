//! `overview`: where the time went, and what to do first.

use omp_model::metrics::{Flavour, Metric, Quantity};
use omp_model::views::ListRow;
use omp_model::views::compare::join::Joined;
use omp_model::views::compare::overview::{self as compared, Fact, FactUnit, Side};
use omp_model::views::compare::verdict::{self, Verdict};
use omp_model::views::openmp::first::First;
use omp_model::views::overview::{self as view, Overview};
use omp_model::views::threads::kind_name;
use serde_json::{Map, Value as Json, json};

use crate::advice;
use crate::document::{
    Block, Cell, Column, Document, InJson, Line, Role, Row, Style, Table, TablePart, Target, Unit,
    Value,
};
use crate::header::duration;
use crate::json::fields;
use crate::query::{Query, Source};
use crate::races;
use crate::run::calendar;
use crate::shares::{self, number};
use crate::text;

/// How many functions an overview shows.
const LARGEST: usize = 10;

/// Where the time went.
pub fn overview(query: &Query<'_>) -> Document {
    if query.is_comparison() {
        return comparison(query);
    }
    let Some(found) = races::in_short(query) else {
        return alone(query);
    };
    if query.all.analysis.experiment.samples.is_empty() {
        return checked(query, &found);
    }
    let mut document = alone(query);
    document.notices.push(found);
    document
}

/// The overview of a run that `collect -r` checked instead of sampling it: of its time nothing is known.
fn checked(query: &Query<'_>, found: &str) -> Document {
    let mut lines = vec![Line::strong(found), Line::default()];
    lines.extend(races::coverage_lines(query));
    Document {
        facts: fields([
            ("checks", races::coverage(query)),
            ("rows", Json::Array(Vec::new())),
        ]),
        blocks: vec![Block::Lines(lines)],
        ..query.document_without_time("overview")
    }
}

/// The overview of one experiment.
struct Look {
    duration: f64,
    overview: Overview,
    first: Option<First>,
}

impl Look {
    fn at(source: &Source<'_>, functions: usize) -> Look {
        let available = source.analysis.available();
        Look {
            duration: source.analysis.experiment.recorded().seconds(),
            overview: view::overview(source.profile(), &source.names(), available, functions),
            first: source.first(),
        }
    }
}

fn alone(query: &Query<'_>) -> Document {
    let source = &query.all;
    let look = Look::at(source, query.limited(LARGEST));
    let mut blocks = Vec::new();
    if let Some(first) = &look.first {
        blocks.extend(advice::head(first));
        blocks.extend(advice::cards(first).map(Block::Table));
        blocks.extend(advice::bars(first).map(Block::Table));
    }
    let remarks = source.remarks();
    if !remarks.is_empty() {
        let remarks = remarks.iter();
        let remarks = remarks.map(|text| Line::warning(format!("  {text}")));
        let lines = std::iter::once(Line::strong("Warnings")).chain(remarks);
        blocks.push(Block::Lines(lines.collect()));
    }
    let details = look.first.is_some().then_some(blocks.len());
    if let Some(first) = &look.first {
        blocks.extend(advice::budget(first).map(Block::Table));
    }
    blocks.push(Block::Table(experiment(source, &look)));
    blocks.push(Block::Table(times(&look.overview)));
    if !look.overview.counters.is_empty() {
        blocks.push(Block::Table(counters(&look.overview)));
    }
    blocks.extend(
        look.first
            .as_ref()
            .map(advice::efficiency)
            .map(Block::Table),
    );
    blocks.push(Block::Table(functions(&look.overview)));
    Document {
        facts: head(source, &look),
        blocks,
        details,
        more: look.first.as_ref().map(advice::json).unwrap_or_default(),
        ..query.document_with_blame("overview")
    }
}

/// Fields of JSON before the functions.
fn head(source: &Source<'_>, look: &Look) -> Map<String, Json> {
    let threads = look.overview.threads.iter();
    let threads: Map<_, _> = threads
        .map(|&(kind, count)| (kind_name(kind).to_owned(), json!(count)))
        .collect();
    let header = &source.analysis.experiment.header;
    fields([
        ("command", json!(header.command)),
        ("duration", json!(look.duration)),
        ("processes", json!(look.overview.processes)),
        ("threads", Json::Object(threads)),
        ("counters", counters_json(&look.overview)),
    ])
}

/// The program, the machine and the time of the run.
fn experiment(source: &Source<'_>, look: &Look) -> Table {
    const CELLS: [Cell; 2] = [
        Cell {
            before: "  ",
            width: 0,
            after: ": ",
        },
        Cell::right(0, ""),
    ];
    let experiment = &source.analysis.experiment;
    let header = &experiment.header;
    let kinds = look.overview.threads.iter();
    let kinds: Vec<String> = kinds
        .map(|&(kind, count)| format!("{count} {}", kind_name(kind)))
        .collect();
    let threads: usize = look.overview.threads.iter().map(|(_, count)| count).sum();
    let facts = [
        ("Target", format!("'{}'", header.command_line())),
        ("Host", format!("{} ({} CPUs)", header.host, header.cpus)),
        ("Start", calendar(header.started_unix)),
        ("Duration", duration(header, Some(experiment.duration()))),
        ("Processes", look.overview.processes.to_string()),
        ("Threads", format!("{threads} ({})", kinds.join(", "))),
    ];
    let rows = facts.map(|(name, fact)| Row {
        name: name.to_owned(),
        values: vec![vec![Value::Absent, Value::Text(fact)]],
        ..Row::default()
    });
    let columns = vec![Column::name(), number("fact", "Fact", Unit::None, 0)];
    let caption = format!("Experiment: {}", source.analysis.name);
    shares::table(&CELLS, caption, columns, rows.into())
}

/// The time of all threads by metric.
fn times(overview: &Overview) -> Table {
    const CELLS: [Cell; 3] = [
        Cell::left("  ", 26),
        Cell::right(12, ""),
        Cell::right(8, "%"),
    ];
    let total = overview.time(Metric::Total);
    // Wait states that never came say nothing; the metrics that partition the time always do.
    // Blame is the others' time again.
    let says = |&&(metric, seconds): &&(Metric, f64)| {
        metric != Metric::Blame && (seconds != 0.0 || !metric.is_openmp())
    };
    let rows = overview.times.iter().filter(says);
    let rows = rows.map(|&(metric, seconds)| Row {
        values: vec![vec![
            Value::Absent,
            Value::Number(seconds),
            Value::Number(text::percent(seconds, total)),
        ]],
        target: Some(Target::Metric(metric)),
        ..Row::at(view::depth(metric) as u32, metric.words())
    });
    let columns = vec![
        Column::name(),
        number("seconds", "Thread Time", Unit::Seconds, 3),
        number("share", "Share, percent", Unit::None, 2),
    ];
    let caption = "Time of all threads".to_owned();
    shares::table(&CELLS, caption, columns, rows.collect())
}

/// The events of counters, and what they say together.
fn counters(overview: &Overview) -> Table {
    const CELLS: [Cell; 3] = [
        Cell::left("  ", 46),
        Cell::right(16, ""),
        Cell::left(" ", 0),
    ];
    let row = |name: &str, value, unit: &str, decimals| Row {
        values: vec![vec![
            Value::Absent,
            Value::Number(value),
            match unit {
                "" => Value::Absent,
                unit => Value::Text(unit.to_owned()),
            },
        ]],
        decimals: Some(decimals),
        ..Row::at(0, name)
    };
    let events = overview.counters.iter().map(|&(metric, events)| {
        let (unit, decimals) = if metric.is_time() { ("s", 3) } else { ("", 0) };
        Row {
            target: Some(Target::Metric(metric)),
            ..row(metric.words(), events, unit, decimals)
        }
    });
    let rates = overview.rates().into_iter();
    let rates = rates.map(|(rate, value)| row(rate.words, value, rate.unit, 2));
    let columns = vec![
        Column::name(),
        number("events", "Events", Unit::None, 0),
        number("unit", "Unit", Unit::None, 0),
    ];
    let caption = "Events of all threads".to_owned();
    shares::table(&CELLS, caption, columns, events.chain(rates).collect())
}

/// The same for JSON.
fn counters_json(overview: &Overview) -> Json {
    let events = overview.counters.iter();
    let events = events.map(|&(metric, events)| (metric.id(), events));
    let rates = overview.rates().into_iter();
    let rates = rates.map(|(rate, value)| (rate.id, value));
    let all = events.chain(rates);
    Json::Object(
        all.map(|(id, value)| (id.to_owned(), json!(value)))
            .collect(),
    )
}

/// The functions with most thread time, under the row of all, which JSON has too.
fn functions(overview: &Overview) -> Table {
    const CELLS: [Cell; 3] = [
        Cell::right(12, ""),
        Cell::right(8, "%"),
        Cell::left("  ", 0),
    ];
    let total = overview.time(Metric::Total);
    let at = overview.times.iter();
    let at = at.clone().position(|(metric, _)| *metric == Metric::Total);
    let values = |row: &ListRow| {
        let seconds = at.map_or(0.0, |at| row.exclusive[at]);
        let shown = [
            Value::Number(seconds),
            Value::Number(text::percent(seconds, total)),
            Value::Absent,
        ];
        let metrics = overview.times.len() + overview.counters.len();
        let seconds = row.exclusive.iter().take(metrics);
        let metrics = seconds.copied().map(Value::Number);
        shown.into_iter().chain(metrics).collect()
    };
    let row = |row: &ListRow, role| Row {
        role,
        values: vec![values(row)],
        marks: row.marks,
        ..Row::function(row.name.clone())
    };
    let all = std::iter::once(row(&overview.largest.total, Role::Total));
    let rows = overview.largest.rows.iter();
    let rows = all.chain(rows.map(|it| row(it, Role::Any))).collect();
    let metrics = overview.times.iter().chain(&overview.counters);
    let metrics = metrics.map(|&(metric, _)| Column {
        heading: Vec::new(),
        ..Column::time(Quantity::Time(Flavour::Exclusive, metric))
    });
    let shown = [
        number("seconds", "Thread Time", Unit::Seconds, 3),
        number("share", "Share, percent", Unit::None, 2),
        Column::name(),
    ];
    let columns = shown.into_iter().chain(metrics).collect();
    let caption = "Functions with most thread time (seconds, % of all)".to_owned();
    shares::table(&CELLS, caption, columns, rows)
}

/// The facts of each experiment.
fn comparison(query: &Query<'_>) -> Document {
    let count = query.limited(LARGEST);
    let looks = query.each.iter().map(|it| Look::at(it, count));
    let looks: Vec<Look> = looks.collect();
    let sides: Vec<Side<'_>> = query.each.iter().zip(&looks).map(side).collect();
    let shared = query.shared();
    let verdicts = verdict::verdicts(&sides, &shared, query.groups());
    let blocks = compared::blocks(&sides).into_iter();
    let mut tables: Vec<Table> = blocks
        .map(|block| {
            let facts = block.facts.into_iter();
            let rows = facts.map(|fact| compared_fact(block.id, fact));
            compared_table(query, block.title, rows.collect())
        })
        .collect();
    let largest = compared::largest(&shared, query.groups(), count).into_iter();
    tables.push(compared_table(
        query,
        "Functions with most thread time, seconds",
        largest.map(compared_function).collect(),
    ));
    let lines = Block::Lines(verdict_lines(&verdicts));
    let tables = tables.into_iter().map(Block::Table);
    let mut document = Document {
        title: "Overview".to_owned(),
        facts: fields([("verdicts", verdicts.iter().map(verdict_json).collect())]),
        blocks: std::iter::once(lines).chain(tables).collect(),
        ..query.document("overview")
    };
    document.notices.extend(compared::extra_work(&sides));
    document
}

fn side<'a>((source, look): (&'a Source<'_>, &'a Look)) -> Side<'a> {
    Side {
        command: &source.analysis.experiment.header.command,
        duration: look.duration,
        overview: &look.overview,
        first: look.first.as_ref(),
    }
}

/// What changed, in words: the first line of a comparison.
pub fn verdict(query: &Query<'_>) -> Block {
    let looks = query.each.iter().map(|it| Look::at(it, 0));
    let looks: Vec<Look> = looks.collect();
    let sides: Vec<Side<'_>> = query.each.iter().zip(&looks).map(side).collect();
    Block::Lines(verdict_lines(&verdict::verdicts(
        &sides,
        &query.shared(),
        query.groups(),
    )))
}

fn verdict_lines(verdicts: &[Verdict]) -> Vec<Line> {
    let of = |verdict: &Verdict| {
        let sentences = verdict.sentences().into_iter().enumerate();
        let line = |(at, text)| match at {
            0 => Line::strong(text),
            _ => Line::plain(format!("  {text}")),
        };
        sentences.map(line).collect::<Vec<_>>()
    };
    verdicts.iter().flat_map(of).collect()
}

fn verdict_json(verdict: &Verdict) -> Json {
    let places = verdict.places.iter();
    let places = places.map(|it| json!({"what": it.words, "seconds": it.seconds}));
    json!({
        "side": verdict.side + 1,
        "before": verdict.before,
        "after": verdict.after,
        "change": verdict.change(),
        "chance": verdict.chance,
        "chance_is_measured": verdict.is_measured,
        "is_change": verdict.is_change(),
        "places": places.collect::<Vec<_>>(),
    })
}

fn compared_table(query: &Query<'_>, caption: &str, rows: Vec<Row>) -> Table {
    let columns = vec![
        Column::word("block", "Block"),
        Column::word("id", "Key"),
        Column {
            json: InJson::Row,
            ..Column::name()
        },
        Column::word("unit", "Unit"),
        Column {
            // The number of the experiment is all its heading.
            heading: vec![String::new()],
            json: InJson::Each,
            ..number("values", "Value", Unit::None, 3)
        },
    ];
    Table {
        style: Style::Facts(&[]),
        compare: query.compare,
        columns,
        parts: vec![TablePart::new(caption, ["values", "name"])],
        rows,
        ..Table::default()
    }
}

fn compared_fact(block: &str, fact: Fact) -> Row {
    let id = Value::Text(fact.id);
    Row {
        values: compared_values(block, id, fact.unit, &fact.values),
        decimals: Some(fact.unit.decimals()),
        ..Row::at(fact.depth as u32, fact.label)
    }
}

fn compared_function(joined: Joined<ListRow>) -> Row {
    let rows = joined.rows.iter();
    // What an experiment does not have took no time in it.
    let seconds = rows.map(|row| Some(row.as_ref().map_or(0.0, |row| row.exclusive[0])));
    let seconds: Vec<Option<f64>> = seconds.collect();
    Row {
        values: compared_values("functions", Value::Absent, FactUnit::Seconds, &seconds),
        target: Some(Target::Function(joined.name.clone())),
        ..Row::at(0, joined.name)
    }
}

/// Values by experiment; those that all share stand in each.
fn compared_values(
    block: &str,
    id: Value,
    unit: FactUnit,
    values: &[Option<f64>],
) -> Vec<Vec<Value>> {
    let of = |value: &Option<f64>| {
        vec![
            Value::Text(block.to_owned()),
            id.clone(),
            Value::Absent,
            Value::Text(unit.word().to_owned()),
            Value::known(*value),
        ]
    };
    values.iter().map(of).collect()
}
