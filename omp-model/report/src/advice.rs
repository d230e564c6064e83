//! The OpenMP part of `overview`: losses, wall time, and the efficiency of the threads.

use omp_model::views::openmp::advice::Loss;
use omp_model::views::openmp::efficiency::{Efficiency, Serial};
use omp_model::views::openmp::first::First;
use omp_model::views::openmp::kernel_work::KernelPart;
use omp_model::views::openmp::locations::ConstructLocation;
use serde_json::{Map, Value as Json, json};

use crate::constructs::location_fields;
use crate::document::{Cell, Column, Line, Row, Table, Target, Unit, Value};
use crate::json::fields;
use crate::shares::{self, number};
use crate::text;

/// How many losses an overview tells.
const LARGEST: usize = 3;

/// The largest losses, each a line.
pub(crate) fn losses(first: &First) -> Vec<Line> {
    let mut lines = vec![Line::strong("What to do first")];
    lines.extend(
        first
            .before()
            .map(|text| Line::warning(format!("  {text}"))),
    );
    if first.losses.is_empty() {
        lines.push(Line::plain(format!("  {}", First::nothing())));
    }
    for (number, loss) in (1..).zip(first.losses.iter().take(LARGEST)) {
        let mut text = format!(
            "  {number}. {}: {} s of {} s ({:.1} %) lost to {}: {}",
            loss.location.short(),
            text::seconds(loss.seconds),
            text::seconds(first.run.wall),
            100.0 * loss.share,
            loss.reason.words(),
            loss.finding,
        );
        if let Some(hint) = first.hint(loss) {
            text.push_str(&format!("; {hint}"));
        }
        lines.push(Line {
            target: loss.location.function.clone().map(Target::Function),
            ..Line::plain(text)
        });
    }
    lines
}

/// The parts of the wall time; `None` for several processes, which do not share it.
pub(crate) fn budget(first: &First) -> Option<Table> {
    const CELLS: [Cell; 3] = [
        Cell::left("  ", 28),
        Cell::right(10, " s"),
        Cell::right(8, " %"),
    ];
    first.budget?;
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
    let budget = first.budget.map(|budget| {
        let parts = budget.parts().into_iter();
        let parts = parts.map(|(_, id, seconds)| (id.to_owned(), json!(seconds)));
        Json::Object(parts.collect())
    });
    let losses: Vec<Json> = first.losses.iter().map(|it| loss(first, it)).collect();
    let spins = first.spins.as_ref().map(|spins| {
        let mut object = fields([("seconds", json!(spins.seconds)), ("of", json!(spins.all))]);
        object.extend(located(&spins.location));
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
        ("wall_time", json!(budget)),
        ("losses", json!(losses)),
        ("efficiency", node(&first.run.efficiency)),
        ("serial", json!(serial)),
    ])
}

fn loss(first: &First, loss: &Loss) -> Json {
    let mut object = located(&loss.location);
    let without = first.run.without(loss.seconds);
    object.extend(fields([
        ("reason", json!(loss.reason.id())),
        ("seconds", json!(loss.seconds)),
        ("share", json!(loss.share)),
        ("speedup_without", json!(without)),
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
