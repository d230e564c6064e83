//! `OMP_preg`: parallel regions with their potential gain by cause.

use experiment::ids::{ContextId, ThreadId};
use omp_model::metrics::{Flavour, Metric};
use omp_model::views::compare::Shared;
use omp_model::views::compare::join::Rank;
use omp_model::views::compare::scaling::region_name;
use omp_model::views::openmp::gain::{Cause, Gain};
use omp_model::views::openmp::locations::ConstructLocation;
use omp_model::views::openmp::regions::{self as view, RegionRow};
use serde_json::{Value as Json, json};

use crate::constructs::{
    ConstructRow, List, contexts, counters, facts, location, none, sorted, table, times,
};
use crate::document::{Block, Document, InJson, Table, TablePart, Value};
use crate::json;
use crate::list::Field;
use crate::query::{Query, Source};

/// A cause is shown from so many seconds on.
const SHOWN: f64 = 5e-4;

/// A column of regions.
type RegionField<'a> = Field<'a, RegionRow>;

/// The parallel regions.
pub fn regions(query: &Query<'_>) -> Document {
    let list = sorted::<RegionRow>(query);
    let threads = Threads::of(&list);
    let counters = counters(query);
    let mut parts = if query.is_comparison() {
        compared_parts(&list)
    } else {
        parts(&threads)
    };
    if !counters.is_empty() {
        let columns = counters.iter().map(String::as_str);
        parts.push(part("Events of counters in the region itself", columns));
    }
    let by = match &list.by {
        Some(metric) => query.by(metric),
        None if query.rank() == Rank::Change => "change of potential gain".to_owned(),
        None if query.is_comparison() => "potential gain".to_owned(),
        None => "potential gain: wall time that even work without waits would save".to_owned(),
    };
    let mut compared = COMPARED.to_vec();
    compared.extend(Cause::ALL.map(Cause::id));
    compared.extend(counters.iter().map(String::as_str));
    let fields = fields(query, &list, &threads);
    let table = table(query, fields, &compared, &list);
    Document {
        title: format!("Parallel regions sorted by {by}"),
        blocks: vec![Block::Table(Table {
            parts,
            empty: none(query, "No parallel region"),
            ..table
        })],
        facts: facts(query),
        ..query.document_with_blame("OMP_preg")
    }
}

/// The columns of a comparison, before the causes.
const COMPARED: [&str; 8] = [
    "kind",
    "gain",
    "elapsed",
    "instances",
    "threads",
    "load_balance",
    "e.ompwork",
    "e.ompwait",
];

fn compared_parts(list: &List<RegionRow>) -> Vec<TablePart> {
    // The causes that no region has would only make the table wide.
    let is_shown = |cause: &Cause| list.rows().any(|row| row.own.part(*cause) >= SHOWN);
    let causes: Vec<&'static str> = Cause::ALL
        .into_iter()
        .filter(is_shown)
        .map(Cause::id)
        .collect();
    let mut parts = vec![part("", COMPARED[1..].iter().copied())];
    if !causes.is_empty() {
        parts.push(part("", causes));
    }
    parts
}

/// Columns by their keys, and the name.
fn part<'c>(caption: &str, columns: impl IntoIterator<Item = &'c str>) -> TablePart {
    TablePart::new(caption, columns.into_iter().chain(["name"]))
}

fn parts(threads: &Threads) -> Vec<TablePart> {
    vec![
        part(
            "",
            [
                "gain",
                "i.gain",
                "elapsed",
                "i.elapsed",
                "wall_percent",
                "instances",
                "threads",
                "load_balance",
                "e.ompwork",
                "e.ompwait",
                "level",
                RegionRow::WORD,
            ],
        ),
        part("The gain by its causes", Cause::ALL.map(Cause::id)),
        part(
            "Time of all threads in the region itself",
            [
                "own_work",
                "e.ompovhd",
                "e.omprduc",
                "e.ompibar",
                "e.ompebar",
                "e.omplkwt",
                "e.ompctwt",
                "e.ompodwt",
                "e.ompatwt",
                "e.omptskwt",
                "e.offcpuwork",
            ],
        ),
        part(
            &threads.caption(),
            ["least_work", "mean_work_of_all", "most_work"]
                .into_iter()
                .chain(threads.columns().map(|(id, _)| id)),
        ),
    ]
}

/// The keys of the columns of threads: a text has so many at most.
const WORK_OF: [&str; 8] = [
    "work_of_1",
    "work_of_2",
    "work_of_3",
    "work_of_4",
    "work_of_5",
    "work_of_6",
    "work_of_7",
    "work_of_8",
];

/// The threads of all teams.
struct Threads {
    /// Those that have columns of their own, in the order of their numbers.
    shown: Vec<ThreadId>,
    /// The number of all.
    all: usize,
}

impl Threads {
    /// Those with the most work are shown.
    fn of(list: &List<RegionRow>) -> Threads {
        let total = list
            .total
            .iter()
            .flat_map(|total| total.rows.iter().flatten());
        let work = total.flat_map(|row| &row.work);
        let all: Vec<ThreadId> = work.map(|&(thread, _)| thread).collect();
        let mut shown: Vec<ThreadId> = all.iter().copied().take(WORK_OF.len()).collect();
        shown.sort_unstable();
        Threads {
            shown,
            all: all.len(),
        }
    }

    /// The line above their columns.
    fn caption(&self) -> String {
        const WORK: &str = "Work of each thread in the region itself";
        let (all, shown) = (self.all, self.shown.len());
        if all == shown {
            return WORK.to_owned();
        }
        format!("{WORK}: of {all} threads, the {shown} with the most (printmode json has all)")
    }

    /// The column of each.
    fn columns(&self) -> impl Iterator<Item = (&'static str, ThreadId)> {
        WORK_OF.into_iter().zip(self.shown.iter().copied())
    }
}

/// The columns that only the text shows. `is_nested`: there are regions within others.
fn shown<'a>(is_nested: bool) -> [RegionField<'a>; 5] {
    let nested = move |value: Value| if is_nested { value } else { Value::Absent };
    [
        RegionField::new("kind", "Kind", |row| Value::Text(kind(row))).heading(["Kind", ""]),
        RegionField::new("i.gain", "Inclusive Potential Gain", move |row| {
            nested(Value::Number(row.whole.total()))
        })
        .heading(["Incl.", "gain"])
        .seconds(),
        RegionField::new("i.elapsed", "Inclusive Elapsed Time", move |row| {
            nested(Value::Number(row.whole.elapsed))
        })
        .heading(["Incl.", "elapsed"])
        .seconds(),
        RegionField::new("level", "Level", move |row| {
            nested(match row.level {
                0 => Value::Omitted,
                level => Value::Count(u64::from(level)),
            })
        })
        .heading(["Level", ""]),
        RegionField::new("own_work", "OMP Work Time", |row| {
            Value::Number(row.time(Metric::OmpWork))
        })
        .heading(["Work", "sec."])
        .seconds(),
    ]
}

/// The columns of a region, in the order of JSON.
fn fields<'a>(query: &Query<'a>, list: &List<RegionRow>, teams: &Threads) -> Vec<RegionField<'a>> {
    let is_comparison = query.is_comparison();
    let is_filtered = query.settings.filter.is_some();
    // Instances are counted without a filter alone. Where none was counted there is nothing to
    // compare.
    let counted = move |has_any: bool, value: Value| {
        let is_known = if is_comparison { has_any } else { !is_filtered };
        if is_known { value } else { Value::Absent }
    };
    let is_nested = list.rows().any(|row| row.nesting > 1);
    let threads = &query.all.names().tables.threads;
    let tid = move |thread: ThreadId| threads.get(thread.index()).map(|it| it.tid);
    let mut fields: Vec<RegionField<'a>> = location().into();
    fields.extend([
        RegionField::new("teams", "Teams Region", |row| Value::Json(json!(row.teams))),
        RegionField::new("nesting", "Level", |row| {
            Value::Count(u64::from(row.nesting))
        }),
    ]);
    fields.extend(contexts("region"));
    fields.extend([
        RegionField::new("instances", "Instances", move |row| {
            counted(row.instances > 0, Value::Count(row.instances))
        })
        .heading(["Instances", ""]),
        RegionField::new("threads", "Threads", move |row| {
            counted(row.threads > 0, Value::Count(u64::from(row.threads)))
        })
        .heading(["Threads", ""]),
        RegionField::new("load_balance", "Load Balance", move |row| {
            counted(row.instances > 0, Value::Number(row.load_balance()))
        })
        .heading(["Load", "balance"])
        .decimals(2),
        RegionField::new("preempted", "Ready Without a CPU", |row| {
            Value::Number(row.ready[Cause::OffCpu as usize])
        })
        .seconds(),
        RegionField::new("longest_work", "Longest Work", |row| {
            Value::known(row.spread.map(|it| it.longest))
        })
        .seconds(),
        RegionField::new("mean_work", "Mean Work", |row| {
            Value::known(row.spread.map(|it| it.mean))
        })
        .seconds(),
        RegionField::new("elapsed", "Elapsed Time", |row| {
            Value::Number(row.own.elapsed)
        })
        .heading(["Elapsed", "sec."])
        .seconds()
        .json(InJson::Under(&["exclusive"])),
        RegionField::new("wall_percent", "Percent of Wall Time", |row| {
            Value::Number(100.0 * row.share())
        })
        .heading(["Of run", "%"])
        .decimals(2)
        .json(InJson::Under(&["exclusive"])),
        RegionField::new("gain", "Potential Gain", |row| {
            Value::Number(row.own.total())
        })
        .heading(["Gain", "sec."])
        .seconds()
        .json(InJson::Under(&["exclusive"])),
    ]);
    fields.extend(Cause::ALL.map(|cause| {
        let label = format!("Gain Lost to {}", cause.words());
        RegionField::new(cause.id(), &label, move |row| {
            Value::Number(row.own.part(cause))
        })
        .heading(if is_comparison {
            ["of gain", cause.id()]
        } else {
            [heading(cause), "sec."]
        })
        .seconds()
        .json(InJson::Under(&["exclusive", "parts"]))
    }));
    fields.extend([
        RegionField::new("inclusive", "With Nested Regions", |row| {
            Value::Json(gain(&row.whole))
        }),
        RegionField::new("work_by_thread", "Work by Thread", move |row| {
            let threads = row.work.iter();
            let of = |&(thread, seconds)| json!({"tid": tid(thread), "seconds": seconds});
            Value::Json(threads.map(of).collect())
        }),
    ]);
    fields.extend(times(query, &[Flavour::Exclusive, Flavour::Inclusive]));
    fields.extend(shown(is_nested).map(|field| field.json(InJson::Nowhere)));
    fields.extend(work_of_threads(query, teams));
    fields
}

/// The work of a thread: the least, the mean and the most, and that of each. JSON has all in one
/// list.
fn work_of_threads<'a>(query: &Query<'_>, teams: &Threads) -> Vec<RegionField<'a>> {
    let range = |id: &str, label: &str, heading: &str, at: usize| {
        RegionField::new(id, label, move |row| {
            Value::Number(row.work_of_a_thread()[at])
        })
        .heading([heading, "sec."])
    };
    let mut fields = vec![
        range("least_work", "Least Work of a Thread", "Least", 0),
        range("mean_work_of_all", "Mean Work of a Thread", "Mean", 1),
        range("most_work", "Most Work of a Thread", "Most", 2),
    ];
    let threads = &query.all.names().tables.threads;
    fields.extend(teams.columns().map(|(id, thread)| {
        let tid = threads.get(thread.index()).map_or(0, |it| it.tid);
        let work = move |row: &RegionRow| {
            let mut work = row.work.iter();
            let own = work.find(|(other, _)| *other == thread);
            Value::Number(own.map_or(0.0, |&(_, seconds)| seconds))
        };
        RegionField::new(id, &format!("Work of Thread {tid}"), work)
            .heading(["Thread", &tid.to_string()])
    }));
    let fields = fields.into_iter();
    fields
        .map(|field| field.seconds().json(InJson::Nowhere))
        .collect()
}

fn kind(row: &RegionRow) -> String {
    match (row.teams, row.level) {
        (_, 0) => String::new(),
        (true, _) => "teams".to_owned(),
        (false, 1) => "region".to_owned(),
        (false, level) => format!("level {level}"),
    }
}

/// A heading for the gain that a cause takes.
const fn heading(cause: Cause) -> &'static str {
    match cause {
        Cause::Imbalance => "Imbalance",
        Cause::Lock => "Locks",
        Cause::Ordered => "Ordered",
        Cause::Scheduling => "Scheduling",
        Cause::Reduction => "Reduction",
        Cause::Atomic => "Atomics",
        Cause::Tasks => "Tasks",
        Cause::Mpi => "MPI",
        Cause::OffCpu => "Off CPU",
    }
}

fn gain(gain: &Gain) -> Json {
    let parts = json::fields(Cause::ALL.map(|cause| (cause.id(), json!(gain.part(cause)))));
    json!({"elapsed": gain.elapsed, "gain": gain.total(), "parts": parts})
}

impl ConstructRow for RegionRow {
    const WORD: &'static str = "REGION";

    fn all(source: &Source<'_>) -> Vec<RegionRow> {
        let (profile, measured) = source.measured();
        view::regions(profile, &source.names(), &measured)
    }

    fn name(&self) -> &str {
        &self.name
    }

    fn shared_name(&self, shared: &Shared<'_>, side: usize) -> String {
        region_name(shared, side, self)
    }

    fn location(&self) -> &ConstructLocation {
        &self.location
    }

    fn contexts(&self) -> &[ContextId] {
        &self.contexts
    }

    fn value(&self, flavour: Flavour, metric: Metric) -> Option<f64> {
        let at = self.metrics.iter().position(|known| *known == metric)?;
        match flavour {
            Flavour::Exclusive => Some(self.exclusive[at]),
            Flavour::Inclusive => Some(self.inclusive[at]),
            Flavour::Attributed => None,
        }
    }

    fn weight(&self) -> f64 {
        self.own.total()
    }

    /// Its potential gain by cause.
    fn detail(&self) -> String {
        let causes = Cause::ALL.into_iter();
        let causes = causes.filter(|&cause| self.own.part(cause) > SHOWN);
        let causes: Vec<String> = causes
            .map(|cause| format!("{} {:.3} s", cause.words(), self.own.part(cause)))
            .collect();
        if causes.is_empty() {
            "nothing to save".to_owned()
        } else {
            format!("to save: {}", causes.join(", "))
        }
    }

    fn absorb(&mut self, other: RegionRow) {
        RegionRow::absorb(self, other);
    }

    fn total<'r>(rows: impl Iterator<Item = &'r RegionRow> + Clone) -> Option<RegionRow> {
        view::total(rows)
    }
}
