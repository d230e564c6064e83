//! `OMP_lock`: locks, critical sections, atomic operations and turns; who waited for whom.

use experiment::ids::{ContextId, ThreadId};
use experiment::tables::Mutex;
use omp_model::metrics::{Flavour, Metric};
use omp_model::views::compare::Shared;
use omp_model::views::compare::join::Rank;
use omp_model::views::openmp::locations::ConstructLocation;
use omp_model::views::openmp::locks::{Acquisitions, LockRow, WaitedFor, locks as view};
use serde_json::{Value as Json, json};

use crate::constructs::{
    ConstructRow, List, advise, facts, located, location, location_fields, none, sorted, table,
    worth,
};
use crate::document::{Block, Document, Line, Table, TablePart, Unit, Value};
use crate::list::Field;
use crate::query::{Query, Source};

/// A column of mutexes.
type LockField<'a> = Field<'a, LockRow>;

/// The mutexes.
pub fn locks(query: &Query<'_>) -> Document {
    let list = sorted::<LockRow>(query);
    let by = match &list.by {
        Some(metric) => query.by(metric),
        None if query.rank() == Rank::Change => "change of waiting time".to_owned(),
        None => "waiting time".to_owned(),
    };
    let columns = if query.is_comparison() {
        &COMPARED[..]
    } else {
        &COLUMNS
    };
    let wall = query.all.analysis.experiment.recorded().seconds();
    let mut table = table(query, fields(query, wall), &COMPARED, &list);
    advise(&mut table, &list, |row| advice(row, wall));
    let empty = match query.settings.filter {
        Some(_) => "No mutex: they are counted for the whole run, which the filter is not",
        None => "No lock, critical section or other mutex of OpenMP was acquired",
    };
    let mut blocks = vec![Block::Table(Table {
        parts: vec![TablePart::new("", columns.iter().copied().chain(["name"]))],
        empty: none(query, empty),
        ..table
    })];
    let lines = wait_lines(&list, wall);
    if !query.is_comparison() && !lines.is_empty() {
        blocks.push(Block::Lines(lines));
    }
    Document {
        title: format!("Mutexes sorted by {by}"),
        blocks,
        facts: facts(query),
        ..query.document("OMP_lock")
    }
}

/// The columns of a text.
const COLUMNS: [&str; 9] = [
    "gain",
    "wait",
    "held",
    "longest_ms",
    "acquisitions",
    "contended",
    "wait_us",
    "threads",
    "mutexes",
];

/// The columns of a comparison.
const COMPARED: [&str; 5] = ["gain", "wait", "held", "acquisitions", "contended"];

/// The columns of a mutex, in the order of JSON.
fn fields<'a>(query: &Query<'a>, wall: f64) -> Vec<LockField<'a>> {
    let threads = &query.all.names().tables.threads;
    let tid = move |thread: ThreadId| threads.get(thread.index()).map(|it| it.tid);
    let mut fields: Vec<LockField<'a>> = location().into();
    fields.extend([
        LockField::new("kind", "Kind", |row| Value::Text(kind(row.kind).to_owned())),
        seconds("gain", "Gain", LockRow::gain),
        seconds("wait", "Wait", |row| row.of_all.wait),
        seconds("held", "Held", |row| row.of_all.held),
        LockField::number("longest_ms", "Longest", |row| {
            Value::known((row.of_all.longest > 0.0).then_some(row.of_all.longest * 1e3))
        })
        .heading(["Longest", "ms"]),
        count(
            "acquisitions",
            "Acquisitions",
            ["Acqui-", "sitions"],
            |row| row.of_all.count,
        ),
        count("contended", "Contended", ["of it", "waited"], |row| {
            row.of_all.contended
        }),
        LockField::number("wait_us", "A wait", |row| {
            Value::known((row.of_all.contended > 0).then(|| row.of_all.mean_wait() * 1e6))
        })
        .heading(["A wait", "us"]),
        count("threads", "Threads", ["Threads", ""], |row| {
            row.threads.len() as u64
        }),
        LockField::number("mutexes", "Mutexes", |row| {
            Value::counted((row.mutexes > 0).then_some(row.mutexes as u64))
        })
        .heading(["Mutexes", ""]),
        LockField::new("by_thread", "By Thread", move |row| {
            let of = |(thread, part): &(ThreadId, Acquisitions)| {
                let mut object = in_json(part);
                object["tid"] = json!(tid(*thread));
                object
            };
            Value::Json(row.threads.iter().map(of).collect())
        }),
        LockField::new("sites", "Sites", |row| {
            let of = |(at, part): &(ConstructLocation, Acquisitions)| {
                let mut object = in_json(part);
                if let Json::Object(fields) = &mut object {
                    fields.extend(location_fields(at));
                }
                object
            };
            Value::Json(row.sites.iter().map(of).collect())
        }),
        LockField::new("waits", "Waits", |row| {
            let of = |it: &WaitedFor| {
                json!({
                    "waiter": location_fields(&it.waiter),
                    "holder": it.holder.as_ref().map(location_fields),
                    "count": it.count,
                    "seconds": it.seconds,
                })
            };
            Value::Json(row.waits.iter().map(of).collect())
        }),
        LockField::new("advice", "Advice", move |row| {
            advice(row, wall).map_or(Value::Absent, Value::Text)
        }),
    ]);
    fields
}

fn in_json(part: &Acquisitions) -> Json {
    json!({
        "acquisitions": part.count,
        "contended": part.contended,
        "wait": part.wait,
        "held": part.held,
        "longest": part.longest,
    })
}

fn seconds<'a>(id: &str, heading: &str, value: impl Fn(&LockRow) -> f64 + 'a) -> LockField<'a> {
    let mut field = LockField::number(id, heading, move |row| Value::Number(value(row)));
    field.column.unit = Unit::Seconds;
    field.heading([heading, "sec."])
}

fn count<'a>(
    id: &str,
    label: &str,
    heading: [&str; 2],
    value: impl Fn(&LockRow) -> u64 + 'a,
) -> LockField<'a> {
    LockField::number(id, label, move |row| Value::Count(value(row))).heading(heading)
}

/// The word of a kind.
const fn kind(kind: Mutex) -> &'static str {
    match kind {
        Mutex::Lock => "lock",
        Mutex::NestLock => "nestable lock",
        Mutex::Critical => "critical",
        Mutex::Atomic => "atomic",
        Mutex::Ordered => "ordered",
    }
}

/// The most places of a row that a text lists.
const PLACES: usize = 3;

/// Places whose waits are a smaller part of the row's are not listed in a text.
const LEAST: f64 = 0.01;

/// From this part of a row's waits on, those that no record explains are told.
const UNTOLD: f64 = 0.1;

/// Who waited for whom, and what would help, for each mutex with waits that matter.
fn wait_lines(list: &List<LockRow>, wall: f64) -> Vec<Line> {
    let rows = list.rows().filter(|row| worth(row.gain(), wall).is_some());
    let lines = rows.flat_map(|row| {
        let mut lines = vec![Line::plain(located(row))];
        let least = LEAST * row.of_all.wait;
        let waits = row.waits.iter().filter(|it| it.seconds > least);
        let waits: Vec<&WaitedFor> = waits.collect();
        let shown = waits.iter().take(PLACES);
        lines.extend(shown.map(|it| Line::plain(format!("    {}", who(it)))));
        if waits.len() > PLACES {
            let more = waits.len() - PLACES;
            lines.push(Line::plain(format!("    and {more} more pairs of places")));
        }
        let told: f64 = row.waits.iter().map(|it| it.seconds).sum();
        let untold = row.of_all.wait - told;
        if untold > UNTOLD * row.of_all.wait {
            lines.push(Line::plain(format!(
                "    {untold:.3} s of its waits have no record that tells for whom, as those of less than 5 us"
            )));
        }
        let advice = advice(row, wall);
        lines.extend(advice.map(|advice| Line::plain(format!("    {advice}"))));
        lines
    });
    lines.collect()
}

/// `sim.c:12 (step) waited 1.203 s for sim.c:40 (flush)`.
fn who(it: &WaitedFor) -> String {
    let waiter = place(&it.waiter);
    let seconds = it.seconds;
    match &it.holder {
        Some(holder) if *holder == it.waiter => {
            format!("{waiter} waited {seconds:.3} s for other threads there")
        }
        Some(holder) => format!("{waiter} waited {seconds:.3} s for {}", place(holder)),
        None => format!("{waiter} waited {seconds:.3} s, for whom is not known"),
    }
}

/// `sim.c:12 (step)`.
fn place(location: &ConstructLocation) -> String {
    match (&location.function, location.line) {
        (Some(function), Some(_)) => format!("{} ({function})", location.short()),
        _ => location.short(),
    }
}

/// A mutex that is held for this part of the run makes threads work one after the other.
const BUSY: f64 = 0.5;

/// Holds that are shorter in seconds cost less than to hand the mutex over to a waiting thread.
const SHORT: f64 = 2e-6;

/// The share of acquisitions that wait, from which on handing the mutex over is what costs.
const OFTEN: f64 = 0.01;

/// One sentence on what would help, where waiting for the mutex costs time.
fn advice(row: &LockRow, wall: f64) -> Option<String> {
    if row.threads.len() < 2 || row.kind == Mutex::Ordered {
        return None;
    }
    let of_run = worth(row.gain(), wall)?;
    let hold = row.of_all.mean_hold();
    if hold < SHORT && row.of_all.held > 0.0 {
        // Where few acquisitions wait, and long, the thread that held the mutex had lost its CPU.
        let waits_often = row.of_all.contended as f64 >= OFTEN * row.of_all.count as f64;
        return waits_often.then(|| format!(
            "a hold takes {:.0} ns, a wait {:.1} us: handing it over costs more than what it guards: let each thread add up its own part, and take it once (a reduction, if it guards a sum): {of_run}",
            hold * 1e9,
            row.of_all.mean_wait() * 1e6
        ));
    }
    let busy = row.of_all.held / wall;
    let (site, of_site) = row
        .sites
        .iter()
        .max_by(|left, right| left.1.held.total_cmp(&right.1.held))?;
    if row.mutexes == 1 && busy > BUSY {
        return Some(format!(
            "it is held for {:.0} % of the run, {:.0} % of that from {}: move work out of it, or give parts of what it guards mutexes of their own: {of_run}",
            100.0 * busy,
            100.0 * of_site.held / row.of_all.held,
            place(site)
        ));
    }
    None
}

impl ConstructRow for LockRow {
    const WORD: &'static str = "LOCK";

    fn all(source: &Source<'_>) -> Vec<LockRow> {
        let (_, measured) = source.measured();
        view(&source.names(), &measured)
    }

    fn name(&self) -> &str {
        &self.name
    }

    fn shared_name(&self, shared: &Shared<'_>, side: usize) -> String {
        shared.name_of(side, &self.name).to_owned()
    }

    fn location(&self) -> &ConstructLocation {
        &self.location
    }

    fn contexts(&self) -> &[ContextId] {
        &[]
    }

    fn value(&self, _: Flavour, _: Metric) -> Option<f64> {
        None
    }

    fn weight(&self) -> f64 {
        self.of_all.wait
    }

    fn detail(&self) -> String {
        format!(
            "{}, {} acquisitions, {} waited",
            kind(self.kind),
            self.of_all.count,
            self.of_all.contended
        )
    }

    fn absorb(&mut self, other: LockRow) {
        LockRow::absorb(self, other);
    }

    /// A mutex is held while others are waited for and held.
    fn total<'r>(_: impl Iterator<Item = &'r LockRow> + Clone) -> Option<LockRow> {
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const WALL: f64 = 10.0;

    /// A mutex of two threads: how often each acquired it, and how many seconds it held it and waited for it.
    fn row(count: u64, held: f64, wait: f64) -> LockRow {
        let of_all = Acquisitions {
            count,
            contended: count / 2,
            wait,
            held,
            longest: held,
        };
        let place = ConstructLocation {
            file: Some("a.c".to_owned()),
            line: Some(7),
            function: Some("step".to_owned()),
        };
        LockRow {
            name: "OMP lock guard".to_owned(),
            location: place.clone(),
            kind: Mutex::Lock,
            mutexes: 1,
            of_all,
            threads: vec![(ThreadId(0), of_all), (ThreadId(1), of_all)],
            sites: vec![(place, of_all)],
            waits: Vec::new(),
        }
    }

    #[test]
    fn a_mutex_that_is_mostly_held_is_to_be_held_less_or_divided() {
        let busy = row(1_000, 6.0, 4.0);
        assert_eq!(
            advice(&busy, WALL).as_deref(),
            Some(
                "it is held for 60 % of the run, 100 % of that from a.c:7 (step): move work out of it, or give parts of what it guards mutexes of their own: up to 2.000 s (20.0 % of the run)"
            )
        );
        assert_eq!(advice(&row(1_000, 4.9, 4.0), WALL), None, "half of the run");
        assert_eq!(advice(&row(1_000, 6.0, 0.19), WALL), None, "a small gain");
        let many = LockRow {
            mutexes: 16,
            ..busy
        };
        assert_eq!(advice(&many, WALL), None, "they may be held at a time");
    }

    #[test]
    fn short_holds_that_others_wait_for_are_to_be_fewer() {
        let short = row(1_000_000, 0.02, 4.0);
        let said = advice(&short, WALL).unwrap_or_default();
        assert!(
            said.starts_with("a hold takes 20 ns, a wait 8.0 us"),
            "{said}"
        );
        assert_eq!(advice(&row(1_000_000, 2.1, 4.0), WALL), None, "2.1 us");
        let turns = LockRow {
            kind: Mutex::Ordered,
            ..short
        };
        assert_eq!(advice(&turns, WALL), None, "their order is the program's");
        let mut seldom = row(1_000_000, 0.02, 4.0);
        seldom.of_all.contended = 200;
        assert_eq!(advice(&seldom, WALL), None, "its holders lost their CPUs");
    }
}
