//! `OMP_loop`: worksharing loops, sections, singles and taskloops, and which schedule would serve.

use experiment::ids::{ContextId, ThreadId};
use experiment::tables::{LoopClause, Schedule};
use omp_model::metrics::{Flavour, Metric};
use omp_model::views::compare::Shared;
use omp_model::views::compare::join::Rank;
use omp_model::views::openmp::Measured;
use omp_model::views::openmp::locations::ConstructLocation;
use omp_model::views::openmp::loops::{LoopRow, loops as view};
use omp_model::views::openmp::regions;
use serde_json::json;

use crate::constructs::{
    ConstructRow, List, advise, facts, located, location, none, sorted, table, worth,
};
use crate::document::{Block, Document, InJson, Line, Table, TablePart, Unit, Value};
use crate::list::Field;
use crate::query::{Query, Source};

/// A column of loops.
type LoopField<'a> = Field<'a, LoopRow>;

/// The loops.
pub fn loops(query: &Query<'_>) -> Document {
    let list = sorted::<LoopRow>(query);
    let by = match &list.by {
        Some(metric) => query.by(metric),
        None if query.rank() == Rank::Change => "change of potential gain".to_owned(),
        None => "potential gain".to_owned(),
    };
    let run = Run::of(query);
    let columns = if query.is_comparison() {
        &COMPARED[..]
    } else {
        &COLUMNS
    };
    let mut table = table(query, fields(query, run), &COMPARED, &list);
    advise(&mut table, &list, |row| advice(row, run));
    let empty = match query.settings.filter {
        Some(_) => "No loop: loops are counted for the whole run, which the filter is not",
        None if Measured::of(&query.all.analysis.experiment).is_cut => {
            "No loop that had ended when the recording did: of others nothing is known"
        }
        None => "No loop that its runtime is asked about (gcc makes static loops itself)",
    };
    let mut blocks = vec![Block::Table(Table {
        parts: vec![TablePart::new("", columns.iter().copied().chain(["name"]))],
        empty: none(query, empty),
        ..table
    })];
    let advice = advice_lines(&list, run);
    if !query.is_comparison() && !advice.is_empty() {
        blocks.push(Block::Lines(advice));
    }
    let mut document = query.document("OMP_loop");
    if list.rows().any(|row| row.is_inferred) {
        document.notices.push(INFERRED.to_owned());
    }
    if list.rows().any(|row| row.schedule.is_none()) {
        document.notices.push(NOT_KNOWN.to_owned());
    }
    Document {
        title: format!("Loops sorted by {by}"),
        facts: facts(query),
        blocks,
        ..document
    }
}

/// What marks of inferred times say of loops.
const INFERRED: &str = "of a loop with ~, the line is inferred: debug information gives another line to its call, and \
     this is the nearest such directive";

/// What a row without a schedule lacks, and why.
const NOT_KNOWN: &str = "of a loop whose schedule is not known, iterations and chunks are not known either: a runtime tells \
     of a loop when a thread has ended it";

/// The columns of a text.
const COLUMNS: [&str; 12] = [
    "gain",
    "work",
    "wait",
    "scheduling",
    "load_balance",
    "threads",
    "instances",
    "iterations",
    "chunks",
    "iteration_us",
    "call_us",
    "schedule_shown",
];

/// The columns of a comparison.
const COMPARED: [&str; 7] = [
    "gain",
    "work",
    "wait",
    "scheduling",
    "instances",
    "iterations",
    "chunks",
];

/// The columns of a loop, in the order of JSON.
fn fields<'a>(query: &Query<'a>, run: Run) -> Vec<LoopField<'a>> {
    let threads = &query.all.names().tables.threads;
    let tid = move |thread: ThreadId| threads.get(thread.index()).map(|it| it.tid);
    let mut fields: Vec<LoopField<'a>> = location().into();
    fields.extend([
        LoopField::new("schedule", "Schedule", |row| {
            row.schedule
                .map_or(Value::Absent, |it| Value::Text(kind(it).to_owned()))
        }),
        LoopField::new("ordered", "Ordered", |row| {
            Value::Json(json!(row.clause == LoopClause::Ordered))
        }),
        LoopField::new("chunk", "Chunk", |row| match row.chunk {
            0 => Value::Absent,
            chunk => Value::Count(chunk),
        }),
        seconds("gain", "Gain", |row| Some(row.gain())),
        seconds("work", "Work", |row| known(row, row.work())),
        seconds("wait", "Wait", |row| Some(row.wait)),
        seconds("scheduling", "Scheduling", |row| row.scheduling),
        seconds("time", "Time", |row| known(row, row.time)),
        LoopField::number("load_balance", "Load", |row| {
            Value::known(row.load_balance())
        })
        .heading(["Load", "balance"])
        .decimals(2),
        count("threads", "Threads", |row| Some(row.threads.len() as u64)),
        count("instances", "Instances", |row| {
            (row.instances > 0).then_some(row.instances)
        }),
        count("iterations", "Iterations", |row| {
            row.is_counted.then_some(row.iterations)
        }),
        count("chunks", "Chunks", |row| {
            let is_known = row.is_counted && row.schedule != Some(Schedule::Taskloop);
            is_known.then_some(row.chunks)
        }),
        LoopField::number("iteration_us", "Iteration", |row| {
            Value::known(iteration(row).map(|seconds| seconds * 1e6))
        })
        .heading(["Iteration", "us"]),
        LoopField::number("call_us", "Call", |row| {
            Value::known(row.call().map(|seconds| seconds * 1e6))
        })
        .heading(["A call", "us"]),
        LoopField::new("schedule_shown", "Schedule", |row| {
            Value::Text(schedule(row))
        })
        .heading(["Schedule", ""])
        .json(InJson::Nowhere),
        LoopField::new("by_thread", "By Thread", move |row| {
            let of = |(thread, part): &(ThreadId, _)| by_thread(tid(*thread), part);
            Value::Json(row.threads.iter().map(of).collect())
        }),
        LoopField::new("advice", "Advice", move |row| {
            advice(row, run).map_or(Value::Absent, Value::Text)
        }),
    ]);
    fields
}

fn by_thread(tid: Option<i32>, part: &omp_model::views::openmp::loops::Part) -> serde_json::Value {
    json!({
        "tid": tid,
        "seconds": part.time,
        "iterations": part.iterations,
        "chunks": part.chunks,
        "instances": part.instances,
    })
}

/// A time; nothing where the runtime tells no end of the construct.
fn known(row: &LoopRow, seconds: f64) -> Option<f64> {
    (row.time > 0.0).then_some(seconds)
}

fn seconds<'a>(
    id: &str,
    heading: &str,
    value: impl Fn(&LoopRow) -> Option<f64> + 'a,
) -> LoopField<'a> {
    let mut field = LoopField::number(id, heading, move |row| {
        let placed = |seconds| {
            let inferred = if row.is_inferred { seconds } else { 0.0 };
            Value::placed(seconds, inferred)
        };
        value(row).map_or(Value::Absent, placed)
    });
    field.column.unit = Unit::Seconds;
    field.heading([heading, "sec."])
}

fn count<'a>(
    id: &str,
    heading: &str,
    value: impl Fn(&LoopRow) -> Option<u64> + 'a,
) -> LoopField<'a> {
    LoopField::number(id, heading, move |row| Value::counted(value(row))).heading([heading, ""])
}

/// The mean work of an iteration in seconds.
fn iteration(row: &LoopRow) -> Option<f64> {
    (row.iterations > 0 && row.time > 0.0).then(|| row.work() / row.iterations as f64)
}

/// The word of a schedule clause, or the construct.
const fn kind(schedule: Schedule) -> &'static str {
    match schedule {
        Schedule::Static | Schedule::StaticChunked => "static",
        Schedule::Dynamic => "dynamic",
        Schedule::Guided => "guided",
        Schedule::Auto => "auto",
        Schedule::Runtime => "runtime",
        Schedule::Distribute => "distribute",
        Schedule::Sections => "sections",
        Schedule::Single => "single",
        Schedule::Taskloop => "taskloop",
    }
}

/// `dynamic,4`, `ordered static`, `taskloop grainsize 50`.
fn schedule(row: &LoopRow) -> String {
    let Some(schedule) = row.schedule else {
        return "not known".to_owned();
    };
    let kind = kind(schedule);
    match (schedule, row.clause, row.chunk) {
        (_, LoopClause::Ordered, 0) => format!("ordered {kind}"),
        (_, LoopClause::Ordered, chunk) => format!("ordered {kind},{chunk}"),
        (_, LoopClause::NumTasks, tasks) => format!("{kind} num_tasks {tasks}"),
        (_, LoopClause::Plain, 0) => kind.to_owned(),
        (Schedule::Taskloop, _, grain) => format!("{kind} grainsize {grain}"),
        (_, _, chunk) => format!("{kind},{chunk}"),
    }
}

/// What advice needs to know of the run.
#[derive(Clone, Copy, Debug)]
struct Run {
    /// Its wall time in seconds.
    wall: f64,
    /// The number of CPUs that its threads could have.
    cpus: u32,
}

impl Run {
    fn of(query: &Query<'_>) -> Run {
        let experiment = &query.all.analysis.experiment;
        let measured = Measured::of(experiment);
        Run {
            wall: measured.duration.seconds(),
            cpus: measured.cpus.all,
        }
    }
}

fn advice_lines(list: &List<LoopRow>, run: Run) -> Vec<Line> {
    let lines = list
        .rows()
        .filter_map(|row| Some((located(row), advice(row, run)?)));
    lines
        .flat_map(|(name, advice)| [Line::plain(name), Line::plain(format!("    {advice}"))])
        .collect()
}

/// A chunk should take so many times as long as the call for it.
const CHUNK_TO_CALL: f64 = 20.0;

/// A thread should get so many chunks of a loop, so that the last ones are short beside the loop.
const CHUNKS_EACH: f64 = 8.0;

/// A load balance from which on another schedule would gain little.
const EVEN: f64 = 0.95;

/// The cost of a call for a chunk in seconds where none was measured.
const USUAL_CALL: f64 = 1e-7;

/// One sentence on what would serve the loop, where it loses time that another schedule can save.
fn advice(row: &LoopRow, run: Run) -> Option<String> {
    let threads = row.threads.len() as f64;
    let of_run = worth(row.gain(), run.wall).filter(|_| threads >= 2.0)?;
    if row.threads.len() > run.cpus as usize {
        return Some(format!(
            "{} threads shared {} CPUs, so its waits say nothing about its schedule",
            row.threads.len(),
            run.cpus
        ));
    }
    // Who waits for a thread that has no CPU waits for no iteration.
    if row.late > row.wait / 4.0 && row.wait > row.scheduling.unwrap_or(0.0) {
        return Some(format!(
            "threads of its region came late or were off their CPUs for {:.3} s: others may have waited for them, whatever the schedule",
            row.late
        ));
    }
    let schedule = row.schedule?;
    match schedule {
        Schedule::Sections if row.trip() < threads => {
            return Some(format!(
                "{:.0} sections keep {:.0} of {threads:.0} threads busy: {of_run}",
                row.trip(),
                row.trip()
            ));
        }
        Schedule::Single => {
            return Some(format!(
                "the other threads wait while one executes it; with nowait they go on, if they do not need its results: {of_run}"
            ));
        }
        Schedule::Sections | Schedule::Taskloop | Schedule::Distribute => return None,
        _ if row.clause == LoopClause::Ordered => return None,
        _ => {}
    }
    let Some(iteration) = iteration(row) else {
        let balance = row.load_balance().filter(|balance| *balance < EVEN)?;
        return Some(format!(
            "its threads do not work equally long (load balance {balance:.2}): schedule(dynamic), with a chunk if its iterations take less than a microsecond: {of_run}"
        ));
    };
    let trip = row.trip();
    // Chunks that cost little to get, and of which each thread still gets some.
    let cheap = (CHUNK_TO_CALL * row.call().unwrap_or(USUAL_CALL) / iteration).round();
    let fair = (trip / (CHUNKS_EACH * threads)).floor().max(1.0);
    let chunk = cheap.clamp(1.0, fair);
    let each = row.chunks as f64 / row.instances.max(1) as f64 / threads;
    let scheduling = row.scheduling.unwrap_or(0.0);
    if row.is_shared_out() && scheduling > row.wait {
        let mean = trip / (row.chunks as f64 / row.instances.max(1) as f64).max(1.0);
        return Some(if chunk > 1.5 * mean {
            format!(
                "a chunk works for {} and costs {} to get: schedule(dynamic, {chunk:.0}) asks {:.0} times less often; schedule(static) never, if all iterations take as long: {of_run}",
                short(mean * iteration),
                short(row.call().unwrap_or(0.0)),
                chunk / mean
            )
        } else {
            format!(
                "its iterations are too few or too short to be given out while it runs: schedule(static): {of_run}"
            )
        });
    }
    if trip < 2.0 * threads {
        return Some(format!(
            "{trip:.0} iterations for {threads:.0} threads: collapse it with a loop inside, or make outer iterations the parallel ones: {of_run}"
        ));
    }
    match schedule {
        Schedule::Static | Schedule::StaticChunked => {
            let balance = row.load_balance()?;
            (balance < EVEN).then(|| {
                format!(
                    "its iterations do not take equally long (load balance {balance:.2}): schedule(dynamic, {chunk:.0}): {of_run}"
                )
            })
        }
        _ if each < CHUNKS_EACH / 2.0 && fair < row.chunk as f64 => Some(format!(
            "{each:.1} chunks for each thread are too few to even out: schedule(dynamic, {chunk:.0}): {of_run}"
        )),
        _ => Some(format!(
            "some iterations take much longer than others: begin with those, or divide them: {of_run}"
        )),
    }
}

/// A short time in words.
fn short(seconds: f64) -> String {
    if seconds < 1e-6 {
        format!("{:.0} ns", seconds * 1e9)
    } else {
        format!("{:.1} us", seconds * 1e6)
    }
}

impl ConstructRow for LoopRow {
    const WORD: &'static str = "LOOP";

    fn all(source: &Source<'_>) -> Vec<LoopRow> {
        let (profile, measured) = source.measured();
        let names = source.names();
        let regions = regions::regions(profile, &names, &measured);
        view(profile, &names, &measured, &regions)
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
        self.gain()
    }

    fn detail(&self) -> String {
        if !self.is_counted {
            return schedule(self);
        }
        format!(
            "{}, {} iterations in {} chunks",
            schedule(self),
            self.iterations,
            self.chunks
        )
    }

    fn absorb(&mut self, other: LoopRow) {
        LoopRow::absorb(self, other);
    }

    /// The time of a loop has that of the loops which its iterations come to.
    fn total<'r>(_: impl Iterator<Item = &'r LoopRow> + Clone) -> Option<LoopRow> {
        None
    }
}

#[cfg(test)]
mod tests {
    use omp_model::views::openmp::loops::Part;

    use super::*;

    const RUN: Run = Run {
        wall: 10.0,
        cpus: 4,
    };

    /// A loop on four threads: its iterations of 1 us, in chunks of `chunk`, ten times.
    fn row(schedule: Schedule, trip: u64, chunk: u64) -> LoopRow {
        let part = |thread, share: f64| {
            let mut part = Part::default();
            part.time = share;
            (ThreadId(thread), part)
        };
        let iterations = 10 * trip;
        let time = iterations as f64 * 1e-6;
        LoopRow {
            name: "f -- OMP loop from line 3".to_owned(),
            location: ConstructLocation::default(),
            is_inferred: false,
            schedule: Some(schedule),
            clause: LoopClause::Plain,
            chunk,
            instances: 10,
            is_counted: true,
            iterations,
            chunks: iterations.div_ceil(chunk.max(1)),
            time,
            scheduling: None,
            wait: 0.0,
            late: 0.0,
            threads: [0.4, 0.3, 0.2, 0.1]
                .into_iter()
                .zip(0..)
                .map(|(share, thread)| part(thread, share * time))
                .collect(),
        }
    }

    fn said(row: &LoopRow) -> String {
        advice(row, RUN).unwrap_or_default()
    }

    #[test]
    fn an_uneven_static_loop_gets_a_chunk_and_an_even_one_nothing() {
        let uneven = LoopRow {
            wait: 2.0,
            ..row(Schedule::Static, 100_000, 0)
        };
        // 20 calls of 0.1 us take as long as two iterations.
        assert_eq!(
            said(&uneven),
            "its iterations do not take equally long (load balance 0.62): schedule(dynamic, 2): up to 0.500 s (5.0 % of the run)"
        );
        let mut even = uneven.clone();
        for (_, part) in &mut even.threads {
            part.time = uneven.time / 4.0;
        }
        assert_eq!(said(&even), "", "its waits come from elsewhere");
        let nearly = LoopRow {
            wait: 0.39,
            ..uneven.clone()
        };
        assert_eq!(said(&nearly), "", "less than 1 % of the run");
        // Of gcc, which computes the parts of threads in the program.
        let uncounted = LoopRow {
            is_counted: false,
            iterations: 0,
            chunks: 0,
            ..uneven.clone()
        };
        assert!(said(&uncounted).contains("(load balance 0.62): schedule(dynamic), with"));
        let even = LoopRow {
            iterations: 0,
            ..even
        };
        assert_eq!(said(&even), "");
        let late = LoopRow {
            late: 0.6,
            ..uneven
        };
        assert!(said(&late).starts_with("threads of its region came late"));
    }

    #[test]
    fn a_loop_that_mostly_asks_gets_larger_chunks_or_none() {
        let asking = |trip, chunk| {
            let row = row(Schedule::Dynamic, trip, chunk);
            let calls = row.chunks + row.instances;
            let scheduling = calls as f64 * 2e-6;
            LoopRow {
                time: row.time + scheduling,
                scheduling: Some(scheduling),
                ..row
            }
        };
        assert_eq!(
            said(&asking(100_000, 1)),
            "a chunk works for 1.0 us and costs 2.0 us to get: schedule(dynamic, 40) asks 40 times less often; schedule(static) never, if all iterations take as long: up to 0.500 s (5.0 % of the run)"
        );
        let few = asking(30, 1);
        let few = LoopRow {
            instances: 400_000,
            iterations: 12_000_000,
            chunks: 12_000_000,
            time: 36.0,
            scheduling: Some(24.0),
            ..few
        };
        assert!(said(&few).starts_with("its iterations are too few or too short"));
        assert_eq!(said(&asking(10_000, 1)), "", "0.5 % of the run");
    }

    #[test]
    fn loops_without_enough_to_share_are_named_for_it() {
        let few = LoopRow {
            wait: 2.0,
            ..row(Schedule::Dynamic, 6, 1)
        };
        assert!(said(&few).starts_with("6 iterations for 4 threads: collapse"));
        let chunks = LoopRow {
            wait: 2.0,
            ..row(Schedule::Dynamic, 10_000, 2_000)
        };
        assert!(said(&chunks).starts_with("1.2 chunks for each thread are too few"));
        let sections = LoopRow {
            wait: 2.0,
            ..row(Schedule::Sections, 3, 0)
        };
        assert!(said(&sections).starts_with("3 sections keep 3 of 4 threads busy"));
        let crowded = LoopRow {
            wait: 2.0,
            ..row(Schedule::Static, 100_000, 0)
        };
        let run = Run { cpus: 2, ..RUN };
        let crowded = advice(&crowded, run).unwrap_or_default();
        assert!(crowded.starts_with("4 threads shared 2 CPUs"));
    }

    #[test]
    fn schedules_are_written_as_clauses() {
        let written = |kind, clause, chunk| {
            schedule(&LoopRow {
                clause,
                ..row(kind, 10, chunk)
            })
        };
        let plain = |kind, chunk| written(kind, LoopClause::Plain, chunk);
        assert_eq!(plain(Schedule::StaticChunked, 8), "static,8");
        assert_eq!(plain(Schedule::Guided, 0), "guided");
        assert_eq!(plain(Schedule::Taskloop, 5), "taskloop grainsize 5");
        let tasks = written(Schedule::Taskloop, LoopClause::NumTasks, 5);
        assert_eq!(tasks, "taskloop num_tasks 5");
        let ordered = written(Schedule::Dynamic, LoopClause::Ordered, 3);
        assert_eq!(ordered, "ordered dynamic,3");
    }
}
