//! Lists of several experiments side by side, and what a program loses as its threads grow.

use std::collections::HashMap;

use omp_model::metrics::{Flavour, Metric, Quantity};
use omp_model::tables::ThreadKind;
use omp_model::views::{List, Request, Row};
use serde_json::{Map, Value, json};

use super::functions::seconds;
use crate::failure::Stop;
use crate::json;
use crate::session::{Compare, PrintMode, Scene, Session};
use crate::text;

/// How a view makes its list.
pub(crate) type MakeList = fn(&Scene<'_>, &Request) -> List;

/// The report of a list if experiments are compared; nothing if they are added up.
pub(crate) fn compared(
    session: &Session<'_>,
    view: &str,
    title: &str,
    make: MakeList,
) -> Result<Option<String>, Stop> {
    let mode = session.settings.compare;
    if mode == Compare::Off {
        return Ok(None);
    }
    if session.recordings().len() < 2 {
        return Err(Stop::words(
            "compare needs two experiments or more: name them last, or compare off",
        ));
    }
    let scenes: Vec<Scene<'_>> = session
        .recordings()
        .iter()
        .map(|recording| session.scene_of(recording))
        .collect::<Result<_, _>>()?;
    if mode == Compare::Scaling {
        return scaling(&scenes, view, title, make).map(Some);
    }
    // All in the order and by the columns of the experiments together.
    let request = session.scene()?.request;
    let lists: Vec<List> = scenes.iter().map(|scene| make(scene, &request)).collect();
    let rows = join(&lists, &request);
    let columns: Vec<Quantity> = session
        .columns()?
        .iter()
        .filter(|column| column.visible())
        .map(|column| column.quantity)
        .filter(|quantity| matches!(quantity, Quantity::Time(..)))
        .collect();
    let table = Table {
        mode,
        request: &request,
        columns: &columns,
        rows: &rows[..scenes[0].limited(rows.len())],
    };
    let report = match session.settings.print {
        PrintMode::Json => table.json(&scenes, view),
        PrintMode::Text => table.text(&scenes, title),
    };
    Ok(Some(report))
}

/// A name that is the same whichever compiler and runtime made it: an outlined function without
/// its symbol.
fn common_name(name: &str) -> String {
    let outlined = name.contains("OMP parallel region")
        || name.contains("OMP task")
        || name.contains("OMP teams")
        || name.contains("OMP reduction");
    match name.split_once(" [") {
        Some((words, rest)) if outlined => {
            // The list of lines goes on behind it.
            let behind = rest.split_once(']').map_or("", |(_, behind)| behind);
            format!("{words}{behind}")
        }
        _ => name.to_owned(),
    }
}

/// What several experiments have under one name.
struct Joined {
    name: String,
    /// By experiment; rows of one name add up.
    rows: Vec<Option<Row>>,
}

fn join(lists: &[List], request: &Request) -> Vec<Joined> {
    let mut joined: Vec<Joined> = Vec::new();
    let mut index = HashMap::<String, usize>::new();
    for (number, list) in lists.iter().enumerate() {
        for row in std::iter::once(&list.total).chain(&list.rows) {
            let name = common_name(&row.name);
            let at = *index.entry(name.clone()).or_insert_with(|| {
                joined.push(Joined {
                    name,
                    rows: vec![None; lists.len()],
                });
                joined.len() - 1
            });
            match &mut joined[at].rows[number] {
                Some(sum) => {
                    let parts = sum.exclusive.iter_mut().zip(&row.exclusive);
                    parts.for_each(|(sum, more)| *sum += more);
                    let parts = sum.inclusive.iter_mut().zip(&row.inclusive);
                    parts.for_each(|(sum, more)| *sum += more);
                }
                empty => *empty = Some(row.clone()),
            }
        }
    }
    // The largest in any experiment first; `<Total>` leads.
    let key = request.sort.quantity;
    let largest = |joined: &Joined| {
        let rows = joined.rows.iter().flatten();
        let values = rows.map(|row| seconds(request, row, key));
        values.fold(0.0, f64::max)
    };
    let [_, rest @ ..] = joined.as_mut_slice() else {
        return joined;
    };
    rest.sort_by(|left, right| {
        let by_time = match key {
            Quantity::Time(..) => largest(right).total_cmp(&largest(left)),
            _ => std::cmp::Ordering::Equal,
        };
        let asked = by_time.then_with(|| left.name.cmp(&right.name));
        match request.sort.reversed {
            true => asked.reverse(),
            false => asked,
        }
    });
    joined
}

/// Rows side by side.
struct Table<'a> {
    mode: Compare,
    request: &'a Request,
    columns: &'a [Quantity],
    rows: &'a [Joined],
}

impl Table<'_> {
    fn value(&self, row: &Joined, number: usize, quantity: Quantity) -> f64 {
        let row = row.rows[number].as_ref();
        row.map_or(0.0, |row| seconds(self.request, row, quantity))
    }

    fn cell(&self, row: &Joined, number: usize, quantity: Quantity) -> String {
        let value = self.value(row, number, quantity);
        let base = self.value(row, 0, quantity);
        match self.mode {
            Compare::Delta if number > 0 => match value - base {
                0.0 => "0.".to_owned(),
                difference => format!("{difference:+.3}"),
            },
            Compare::Ratio if number > 0 => match (base, value) {
                (0.0, 0.0) => "-".to_owned(),
                (0.0, _) => "new".to_owned(),
                _ => format!("x{:.3}", value / base),
            },
            _ => text::number(value, 3),
        }
    }

    fn text(&self, scenes: &[Scene<'_>], title: &str) -> String {
        let mut headings = Vec::new();
        for quantity in self.columns {
            for number in 0..scenes.len() {
                let unit = match self.mode {
                    Compare::Delta if number > 0 => "delta",
                    Compare::Ratio if number > 0 => "ratio",
                    _ => "sec.",
                };
                let Quantity::Time(flavour, metric) = quantity else {
                    continue;
                };
                let (first, second) = (flavour.heading(), metric.words());
                headings.push(format!("{first}\n{second}\n({}) {unit}", number + 1));
            }
        }
        headings.push("\n\nName".to_owned());
        let rows: Vec<Vec<String>> = self
            .rows
            .iter()
            .map(|row| {
                let cells = self.columns.iter().flat_map(|&quantity| {
                    (0..scenes.len()).map(move |number| self.cell(row, number, quantity))
                });
                cells.chain([row.name.clone()]).collect()
            })
            .collect();
        let table = text::grid(scenes[0].settings.layout, &headings, &rows);
        let by = self.request.sort.quantity.label();
        format!(
            "{title} sorted by metric: {by}\n{}\n{table}\n",
            experiments(scenes)
        )
    }

    fn json(&self, scenes: &[Scene<'_>], view: &str) -> String {
        let values = |row: &Joined, number: usize| {
            json::values(self.columns, None, |quantity| {
                self.value(row, number, quantity)
            })
        };
        let row = |row: &Joined| {
            let all: Vec<Value> = (0..scenes.len())
                .map(|number| values(row, number))
                .collect();
            json!({"name": row.name, "values": all})
        };
        let mut object = envelope(scenes, view, self.mode);
        let metrics = self.columns.iter().copied().map(json::metric).collect();
        object.insert("metrics".to_owned(), metrics);
        object.insert("rows".to_owned(), self.rows.iter().map(row).collect());
        format!("{}\n", Value::Object(object))
    }
}

/// The experiments by number.
fn experiments(scenes: &[Scene<'_>]) -> String {
    let names = scenes.iter().zip(1..);
    names
        .map(|(scene, number)| format!("  ({number}) {}\n", scene.recording.name))
        .collect()
}

fn envelope(scenes: &[Scene<'_>], view: &str, mode: Compare) -> Map<String, Value> {
    let mut object = json::envelope(&scenes[0], view);
    let names: Vec<&str> = scenes
        .iter()
        .map(|scene| scene.recording.name.as_str())
        .collect();
    let mode = match mode {
        Compare::Off => "off",
        Compare::On => "on",
        Compare::Delta => "delta",
        Compare::Ratio => "ratio",
        Compare::Scaling => "scaling",
    };
    object.insert("experiments".to_owned(), json!(names));
    object.insert("compare".to_owned(), json!(mode));
    object
}

/// The parts of a loss; they add up to it.
const PARTS: [&str; 4] = ["wait", "idle", "overhead", "work"];

/// What is lost against ideal scaling: the thread time of an experiment on N threads, less that
/// of the one on fewest. Ideally a program does the same work, in as much thread time, on any
/// number of threads.
struct Loss {
    name: String,
    /// For each experiment but the first: the loss in seconds, and its [`PARTS`].
    of: Vec<(f64, [f64; 4])>,
}

fn scaling(scenes: &[Scene<'_>], view: &str, title: &str, make: MakeList) -> Result<String, Stop> {
    let mut by_threads: Vec<(u32, &Scene<'_>)> =
        scenes.iter().map(|scene| (team(scene), scene)).collect();
    by_threads.sort_by_key(|(threads, _)| *threads);
    let (fewest, most) = (by_threads[0].0, by_threads[by_threads.len() - 1].0);
    if fewest == most {
        return Err(Stop::Words(format!(
            "compare scaling needs runs on different numbers of threads: all have {most}"
        )));
    }
    let request = Request {
        metrics: vec![
            Metric::Total,
            Metric::OmpWork,
            Metric::OmpWait,
            Metric::Idle,
            Metric::Overhead,
        ],
        sort: scenes[0].request.sort,
    };
    let lists: Vec<List> = by_threads
        .iter()
        .map(|(_, scene)| make(scene, &request))
        .collect();
    let of = |joined: &Joined, number: usize| {
        let time = |metric| {
            let quantity = Quantity::Time(Flavour::Inclusive, metric);
            let row = joined.rows[number].as_ref();
            row.map_or(0.0, |row| seconds(&request, row, quantity))
        };
        let (idle, overhead) = (time(Metric::Idle), time(Metric::Overhead));
        let wait = time(Metric::OmpWait) - idle;
        let work = time(Metric::OmpWork) - overhead;
        (time(Metric::Total), [wait, idle, overhead, work])
    };
    let mut losses: Vec<Loss> = join(&lists, &request)
        .iter()
        .map(|joined| {
            let (base, base_parts) = of(joined, 0);
            let loss = |number| {
                let (total, mut parts) = of(joined, number);
                let pairs = parts.iter_mut().zip(base_parts);
                pairs.for_each(|(part, base)| *part -= base);
                (total - base, parts)
            };
            Loss {
                name: joined.name.clone(),
                of: (1..lists.len()).map(loss).collect(),
            }
        })
        .collect();
    let last = |loss: &Loss| loss.of.last().map_or(0.0, |(loss, _)| *loss);
    if let [_, rest @ ..] = losses.as_mut_slice() {
        rest.sort_by(|left, right| {
            let by_loss = last(right).total_cmp(&last(left));
            by_loss.then_with(|| left.name.cmp(&right.name))
        });
    }
    losses.truncate(scenes[0].limited(losses.len()));
    let threads: Vec<u32> = by_threads.iter().map(|(threads, _)| *threads).collect();
    let ordered: Vec<&Scene<'_>> = by_threads.iter().map(|(_, scene)| *scene).collect();
    Ok(match scenes[0].settings.print {
        PrintMode::Json => scaling_json(scenes, view, (&threads, &ordered), &losses),
        PrintMode::Text => scaling_text(scenes, title, (&threads, &ordered), &losses),
    })
}

/// The largest team of a run; without a region, the threads that OpenMP knows.
fn team(scene: &Scene<'_>) -> u32 {
    let experiment = &scene.recording.experiment;
    let teams = experiment.region_sums.iter().map(|sum| u32::from(sum.team));
    teams.max().unwrap_or_else(|| {
        let threads = experiment.tables.threads.iter();
        let known = threads.filter(|thread| thread.kind != ThreadKind::Outside);
        known.count().max(1) as u32
    })
}

fn counted(threads: u32) -> String {
    format!("{threads} thread{}", if threads == 1 { "" } else { "s" })
}

type Ordered<'a, 's> = (&'a [u32], &'a [&'a Scene<'s>]);

fn scaling_text(
    scenes: &[Scene<'_>],
    title: &str,
    (threads, ordered): Ordered<'_, '_>,
    losses: &[Loss],
) -> String {
    let mut headings = Vec::new();
    for threads in &threads[1..] {
        let line = |words: &str| format!("{threads} threads\n{words}\nsec.");
        headings.push(line("Loss"));
        headings.extend(["Wait", "Idle", "Overhead", "Extra work"].map(line));
    }
    headings.push("\n\nName".to_owned());
    let number = |value: f64| match value.abs() < 5e-7 {
        true => "0.".to_owned(),
        false => format!("{value:.3}"),
    };
    let rows: Vec<Vec<String>> = losses
        .iter()
        .map(|loss| {
            let cells = loss.of.iter().flat_map(|(loss, parts)| {
                std::iter::once(number(*loss)).chain(parts.iter().map(|&part| number(part)))
            });
            cells.chain([loss.name.clone()]).collect()
        })
        .collect();
    let runs: String = threads
        .iter()
        .zip(ordered)
        .map(|(&threads, scene)| format!("  {}: {}\n", counted(threads), scene.recording.name))
        .collect();
    let table = text::grid(scenes[0].settings.layout, &headings, &rows);
    format!(
        "{title} by thread time lost against {}, inclusive\n{runs}\n{table}\n",
        counted(threads[0])
    )
}

fn scaling_json(
    scenes: &[Scene<'_>],
    view: &str,
    (threads, ordered): Ordered<'_, '_>,
    losses: &[Loss],
) -> String {
    let mut object = envelope(scenes, view, Compare::Scaling);
    let names: Vec<&str> = ordered
        .iter()
        .map(|scene| scene.recording.name.as_str())
        .collect();
    object.insert("experiments".to_owned(), json!(names));
    object.insert("threads".to_owned(), json!(threads));
    let one = |(loss, parts): &(f64, [f64; 4])| {
        let mut fields = Map::new();
        fields.insert("loss".to_owned(), json!(loss));
        for (name, part) in PARTS.iter().zip(parts) {
            fields.insert((*name).to_owned(), json!(part));
        }
        Value::Object(fields)
    };
    let row = |loss: &Loss| json!({"name": loss.name, "losses": loss.of.iter().map(one).collect::<Vec<_>>()});
    object.insert("rows".to_owned(), losses.iter().map(row).collect());
    format!("{}\n", Value::Object(object))
}
