//! The OpenMP part of `overview`: losses, wall time, and the efficiency of the threads.

use omp_model::states::Cause;
use omp_model::views::openmp::advice::{Loss, Reason};
use omp_model::views::openmp::bars::{self, Of, Use};
use omp_model::views::openmp::efficiency::{Efficiency, Serial};
use omp_model::views::openmp::first::First;
use omp_model::views::openmp::kernel_work::KernelPart;
use omp_model::views::openmp::locations::ConstructLocation;
use serde_json::{Map, Value as Json, json};

use crate::constructs::location_fields;
use crate::document::{
    Bar, Block, Cell, CodeLocation, Column, Line, Row, Style, Table, TablePart, Target, Unit, Value,
};
use crate::json::fields;
use crate::shares::{self, number};
use crate::text;

/// The least share of the time that has a place in the bars' legend.
const LEGEND: f64 = 5e-4;

/// The cells of a line of the legend.
const LEGEND_WIDTH: usize = 80;

/// How many losses an overview tells.
const LARGEST: usize = 3;

/// What affects every time below; and that there is nothing to do, if no loss is large.
pub(crate) fn head(first: &First) -> Option<Block> {
    let mut lines: Vec<Line> = first.before().map(Line::warning).collect();
    if first.losses.is_empty() {
        lines.push(Line::plain(First::nothing()));
    }
    (!lines.is_empty()).then_some(Block::Lines(lines))
}

/// The largest losses, each with what to do, how much it takes, and why.
pub(crate) fn cards(first: &First) -> Option<Table> {
    let losses = first.losses.iter().take(LARGEST);
    let rows: Vec<Row> = losses.map(|loss| card(first, loss)).collect();
    let columns = vec![
        Column::name(),
        number("lost", "Lost", Unit::None, 0),
        number("why", "Why", Unit::None, 0),
        number("view", "View", Unit::None, 0).without_heading(),
    ];
    (!rows.is_empty()).then(|| Table {
        style: Style::Cards,
        parts: vec![TablePart::new("What to do first", [""; 0])],
        columns,
        rows,
        ..Table::default()
    })
}

fn card(first: &First, loss: &Loss) -> Row {
    let lost = format!(
        "{} s of {} s ({:.1} %) lost to {}: {}",
        text::seconds(loss.seconds),
        text::seconds(first.run.wall),
        100.0 * loss.share,
        loss.reason.words(),
        first.gain(loss),
    );
    let place = loss.location.short();
    Row {
        values: vec![vec![
            Value::Absent,
            Value::Text(lost),
            Value::Text(loss.finding.clone()),
            view(loss).map_or(Value::Absent, |name| Value::Text(name.to_owned())),
        ]],
        target: target(&loss.location),
        // What is said for the whole run is not repeated.
        ..Row::named(match first.hint(loss) {
            Some(hint) => format!("{place}: {hint}"),
            None => format!("{place}: {}", loss.reason.words()),
        })
    }
}

/// The report with the details: the one that the advice names, else that of the reason.
fn view(loss: &Loss) -> Option<&'static str> {
    const REPORTS: [&str; 4] = ["OMP_loop", "OMP_lock", "OMP_task", "OMP_preg"];
    if let Some(named) = REPORTS.iter().find(|name| loss.hint.contains(**name)) {
        return Some(named);
    }
    match loss.reason {
        Reason::Region(Cause::Lock | Cause::Ordered) => Some("OMP_lock"),
        Reason::Region(Cause::Tasks) => Some("OMP_task"),
        Reason::Region(_) | Reason::Small | Reason::NoTeam => Some("OMP_preg"),
        Reason::Serial
        | Reason::SerialRuntime
        | Reason::SerialOffCpu
        | Reason::Memory
        | Reason::Atomics => None,
    }
}

/// The line of a place, or its function.
fn target(location: &ConstructLocation) -> Option<Target> {
    let function = location.function.clone();
    match location.line {
        Some(line) => Some(Target::Line(CodeLocation {
            function,
            file: location.file.clone(),
            line,
        })),
        None => function.map(Target::Function),
    }
}

/// What the time went to: of the run, and under it of its regions and serial code, which add up to it.
pub(crate) fn bars(first: &First) -> Option<Table> {
    let whole = first.bars.first()?.seconds();
    let caption = match first.run.processes {
        1 => format!(
            "Where {} s on {} threads went, by region",
            text::seconds(whole),
            first.run.threads
        ),
        _ => format!(
            "Where {} s of the threads' time went, by region",
            text::seconds(whole)
        ),
    };
    let shown = first.shown_bars();
    let rows = shown.iter().map(|bar| bar_row(bar, whole)).collect();
    let uses = first.bars[0].parts.iter();
    let uses = uses.filter(|part| part.1 >= LEGEND * whole);
    Some(table_of_bars(caption, rows, uses.map(|part| part.0)))
}

/// Bars under a caption, each with its seconds and its share, and what their letters stand for.
pub(crate) fn table_of_bars(
    caption: String,
    rows: Vec<Row>,
    uses: impl Iterator<Item = Use>,
) -> Table {
    const CELLS: [Cell; 4] = [
        Cell::left("  ", Bar::WIDTH),
        Cell::right(10, " s"),
        Cell::right(8, " %"),
        Cell::left("  ", 0),
    ];
    let columns = vec![
        number("bar", "Use", Unit::None, 0),
        number("seconds", "Time", Unit::Seconds, 3),
        number("share", "Share, percent", Unit::None, 1),
        Column::name(),
    ];
    let legend = uses.map(|what| format!("  {} {}", what.letter(), what.words()));
    let legend = legend.fold(Vec::<String>::new(), |mut lines, entry| {
        match lines.last_mut() {
            Some(line) if line.len() + entry.len() < LEGEND_WIDTH => *line += &entry,
            _ => lines.push(entry),
        }
        lines
    });
    Table {
        foot: legend.into_iter().map(Line::plain).collect(),
        ..shares::table(&CELLS, caption, columns, rows)
    }
}

fn bar_row(bar: &bars::Bar, whole: f64) -> Row {
    let (name, target) = match &bar.of {
        Of::Run => ("all".to_owned(), None),
        Of::Region { name, location } => (location.short(), Some(Target::Function(name.clone()))),
        Of::OtherRegions(count) => (format!("{count} other regions"), None),
        Of::Serial => ("serial code".to_owned(), None),
        Of::NoTeam => (Use::NoTeam.words().to_owned(), None),
    };
    Row {
        target,
        ..row_of_bar(name, bar.parts.clone(), whole)
    }
}

/// A row of [`table_of_bars`].
pub(crate) fn row_of_bar(name: String, parts: Vec<(Use, f64)>, whole: f64) -> Row {
    let seconds = parts.iter().map(|part| part.1).sum();
    Row {
        values: vec![vec![
            Value::Bar(Bar { parts, whole }),
            Value::Number(seconds),
            Value::Number(text::percent(seconds, whole)),
            Value::Absent,
        ]],
        ..Row::named(name)
    }
}

/// The parts of the wall time; `None` for several processes, which do not share it.
pub(crate) fn budget(first: &First) -> Option<Table> {
    const CELLS: [Cell; 3] = [
        Cell::left("  ", 28),
        Cell::right(10, " s"),
        Cell::right(8, " %"),
    ];
    first.wall_time()?;
    let caption = format!(
        "Where {} s on {} threads went",
        text::seconds(first.run.wall),
        first.run.threads
    );
    let parts = first.parts().into_iter();
    let rows = parts.map(|(depth, words, seconds, percent)| Row {
        values: vec![vec![
            Value::Absent,
            Value::Number(seconds),
            Value::Number(percent),
        ]],
        ..Row::at(depth, &words)
    });
    let columns = vec![
        Column::name(),
        number("seconds", "Wall Time", Unit::Seconds, 3),
        number("share", "Share, percent", Unit::None, 1),
    ];
    Some(shares::table(&CELLS, caption, columns, rows.collect()))
}

/// The efficiency of the threads and the loss in percent, and serial time under it.
pub(crate) fn efficiency(first: &First) -> Table {
    const CELLS: [Cell; 3] = [
        Cell::left("  ", 50),
        Cell::right(8, " %"),
        Cell {
            before: "   loses ",
            width: 6,
            after: " %",
        },
    ];
    let caption = format!(
        "Efficiency of {} threads over {} s (each line loses what the lines under it lose)",
        first.run.threads,
        text::seconds(first.run.wall)
    );
    let mut rows = Vec::new();
    describe(&first.run.efficiency, 0, &mut rows);
    let foot = first.run.serial.map(serial_line).into_iter();
    let columns = vec![
        Column::name(),
        number("efficiency", "Efficiency, percent", Unit::None, 2),
        number("loss", "Loss, percent", Unit::None, 2),
    ];
    Table {
        foot: foot.map(Line::plain).collect(),
        ..shares::table(&CELLS, caption, columns, rows)
    }
}

fn describe(efficiency: &Efficiency, depth: u32, rows: &mut Vec<Row>) {
    rows.push(Row {
        values: vec![vec![
            Value::Absent,
            Value::Number(100.0 * efficiency.value()),
            Value::Number(100.0 * efficiency.loss),
        ]],
        ..Row::at(depth, efficiency.label)
    });
    for child in &efficiency.children {
        describe(child, depth + 1, rows);
    }
}

/// A bound of the speed that is larger is not said.
const LARGEST_BOUND: f64 = 64.0;

fn serial_line(serial: Serial) -> String {
    let mut text = format!(
        "Serial time: {} s of {} s",
        text::seconds(serial.seconds),
        text::seconds(serial.wall)
    );
    if serial.seconds > 0.0 {
        text.push_str(&format!(
            "; if everything else scaled, with twice the threads at most {:.2} times as fast as now \
             (Amdahl's law)",
            serial.bound(2.0),
        ));
        // Beyond that other limits come first.
        if serial.limit() < LARGEST_BOUND {
            text.push_str(&format!(", with any number {:.2} times", serial.limit()));
        }
    }
    text
}

/// Losses, wall time and efficiency as JSON.
pub(crate) fn json(first: &First) -> Map<String, Json> {
    let crowd = &first.crowd;
    let wall_time = first.wall_time().map(|bar| {
        let parts = bar.useful_and_lost().into_iter();
        let parts = parts.map(|(_, id, seconds)| (id.to_owned(), json!(seconds)));
        Json::Object(parts.collect())
    });
    let losses: Vec<Json> = first.losses.iter().map(|it| loss(first, it)).collect();
    let spins = first.spins.as_ref().map(|spins| {
        let mut object = fields([("seconds", json!(spins.seconds)), ("of", json!(spins.all))]);
        object.extend(located(&spins.location));
        object
    });
    let neighbours = first.neighbours.as_ref().map(|found| {
        let times = [("seconds", json!(found.seconds)), ("of", json!(found.all))];
        let mut object = fields(times);
        object.extend(located(found.location()));
        object
    });
    let part = |part: &KernelPart| {
        let mut object = fields([
            ("reason", json!(part.reason)),
            ("seconds", json!(part.seconds)),
        ]);
        object.extend(located(&part.location));
        object
    };
    let kernel = first.kernel.as_ref();
    let kernel = kernel.map(|parts| parts.iter().map(part).collect::<Vec<_>>());
    let serial = first.run.serial.map(|serial| {
        json!({
            "seconds": serial.seconds,
            "on_cpu": serial.useful,
            "wall": serial.wall,
            "threads": serial.threads,
            "amdahl_twice_the_threads": serial.bound(2.0),
            // JSON has no infinity: null.
            "amdahl_limit": serial.limit(),
        })
    });
    fields([
        (
            "ready_without_cpu",
            json!({
                "seconds": crowd.ready,
                "of": crowd.all,
                "cpus": first.cpus,
                "stolen": crowd.stolen,
                "others": crowd.others,
                "own_spinning": crowd.spinning,
                "own_working": crowd.working,
                "own_outside_openmp": crowd.outside,
            }),
        ),
        (
            "recording",
            json!(
                first
                    .recorder
                    .map(|it| json!({"seconds": it.seconds, "on_cpu": it.all}))
            ),
        ),
        ("useful_in_kernel", json!(kernel)),
        ("flush_spin", json!(spins)),
        ("false_sharing", json!(neighbours)),
        ("wall_time", json!(wall_time)),
        ("bars", first.shown_bars().iter().map(bar).collect()),
        ("losses", json!(losses)),
        ("efficiency", node(&first.run.efficiency)),
        ("serial", json!(serial)),
    ])
}

/// A bar: what it is of, and seconds by use.
fn bar(bar: &bars::Bar) -> Json {
    let mut object = match &bar.of {
        Of::Run => fields([("of", json!("run"))]),
        Of::Region { name, location } => {
            let mut object = fields([("of", json!("region")), ("name", json!(name))]);
            object.extend(located(location));
            object
        }
        Of::OtherRegions(count) => {
            fields([("of", json!("other_regions")), ("count", json!(count))])
        }
        Of::Serial => fields([("of", json!("serial"))]),
        Of::NoTeam => fields([("of", json!("no_team"))]),
    };
    let parts = bar.parts.iter();
    let parts = parts.map(|(what, seconds)| (what.id().to_owned(), json!(seconds)));
    object.insert("seconds".to_owned(), Json::Object(parts.collect()));
    Json::Object(object)
}

fn loss(first: &First, loss: &Loss) -> Json {
    let mut object = located(&loss.location);
    let without = first.run.without(loss.seconds);
    let at_least = first.run.without(loss.seconds - loss.ready);
    object.extend(fields([
        ("reason", json!(loss.reason.id())),
        ("seconds", json!(loss.seconds)),
        ("share", json!(loss.share)),
        ("speedup_without", json!(without)),
        ("speedup_at_least", json!(at_least)),
        ("finding", json!(loss.finding)),
        ("hint", json!(loss.hint)),
    ]));
    Json::Object(object)
}

fn located(location: &ConstructLocation) -> Map<String, Json> {
    let mut object = fields([("place", json!(location.short()))]);
    object.extend(location_fields(location));
    object
}

fn node(efficiency: &Efficiency) -> Json {
    let children: Vec<Json> = efficiency.children.iter().map(node).collect();
    json!({
        "id": efficiency.id,
        "label": efficiency.label,
        "efficiency": efficiency.value(),
        "loss": efficiency.loss,
        "children": children,
    })
}
