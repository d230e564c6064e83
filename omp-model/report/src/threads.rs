//! Threads: `thread_list`, `lwp_list`, and time by thread.

use std::collections::BTreeMap;

use experiment::ids::Nanos;
use experiment::tables::ThreadKind;
use omp_model::metrics::{Flavour, Metric, Quantity};
use omp_model::views::threads::{ThreadRow, kind_name, threads as thread_rows};

use crate::document::{Column, Document, InJson, Target, Value};
use crate::index::{self, Head, IndexObject};
use crate::list::{self, Field};
use crate::query::{Query, Source};

const TITLE: &str = "Threads in the order of their appearance";

/// The metrics that a text of `thread_list` shows beside counters, of those that there are.
const SHOWN: [Metric; 4] = [
    Metric::Total,
    Metric::TotalCpu,
    Metric::OmpWork,
    Metric::OmpWait,
];

/// A thread.
struct Thread {
    row: ThreadRow,
    /// Its kind and how many of that kind came before it: the same in runs that are alike.
    shared_name: String,
    /// The number of its experiment.
    experiment: u32,
}

impl Thread {
    fn name(&self) -> String {
        let helper = (self.row.kind == ThreadKind::Other).then_some("helper of the runtime");
        let own = Some(self.row.name.as_str()).filter(|name| !name.is_empty());
        let about: Vec<&str> = own.into_iter().chain(helper).collect();
        let about = match about.as_slice() {
            [] => String::new(),
            about => format!(" ({})", about.join(", ")),
        };
        format!("Process {}, Thread {}{about}", self.row.pid, self.row.tid)
    }

    fn number(&self) -> Value {
        Value::Count(u64::from(self.row.thread.0) + 1)
    }

    fn pid(&self) -> Value {
        kernel_number(self.row.pid)
    }

    fn tid(&self) -> Value {
        kernel_number(self.row.tid)
    }

    fn kind(&self) -> Value {
        Value::Text(kind_name(self.row.kind).to_owned())
    }

    fn own_name(&self) -> Value {
        match self.row.name.as_str() {
            "" => Value::Absent,
            name => Value::Text(name.to_owned()),
        }
    }

    fn start(&self) -> Value {
        Value::Clock(self.row.birth.seconds())
    }

    fn end(&self) -> Value {
        let end = self.row.death.map(Nanos::seconds);
        end.map_or(Value::Absent, Value::Clock)
    }
}

/// The number of a process or thread; the kernel has none below 0.
pub(crate) fn kernel_number(number: i32) -> Value {
    Value::counted(u64::try_from(number).ok())
}

/// The threads of a source in the order of their appearance.
fn threads_of(source: &Source<'_>, metrics: &[Metric]) -> Vec<Thread> {
    let tables = &source.analysis.experiment.tables;
    let rows = thread_rows(source.profile(), tables, metrics);
    let mut counts = BTreeMap::<&str, u32>::new();
    let thread = |row: ThreadRow| {
        let kind = kind_name(row.kind);
        let count = counts.entry(kind).or_default();
        *count += 1;
        let origin = source.analysis.origins.get(row.thread.index());
        Thread {
            shared_name: format!("Thread {count} ({kind})"),
            experiment: origin.copied().unwrap_or(1),
            row,
        }
    };
    rows.into_iter().map(thread).collect()
}

/// Threads by the metrics in force.
pub fn threads(query: &Query<'_>) -> Document {
    let head = Head {
        view: "Threads",
        title: TITLE,
        facts: &[
            "thread",
            "pid",
            "tid",
            "thread_name",
            "kind",
            "start",
            "end",
        ],
    };
    let object = |thread: Thread| IndexObject {
        name: if query.is_comparison() {
            thread.shared_name.clone()
        } else {
            thread.name()
        },
        facts: vec![
            thread.number(),
            thread.pid(),
            thread.tid(),
            thread.own_name(),
            thread.kind(),
            thread.start(),
            thread.end(),
        ],
        number: thread.tid(),
        target: Some(Target::Thread(thread.row.thread)),
        seconds: thread.row.seconds,
    };
    index::document(query, &head, |source, metrics| {
        let threads = threads_of(source, metrics).into_iter();
        threads.map(object).collect()
    })
}

/// Threads with their lifetimes.
pub fn thread_list(query: &Query<'_>) -> Document {
    let available = query.all.analysis.available();
    if query.is_comparison() {
        let times = SHOWN.into_iter().filter(|it| available.has(*it));
        let shown: Vec<Metric> = times.chain(available.counters()).collect();
        return compared(query, "thread_list", &shown);
    }
    let metrics = available.metrics();
    let mut fields = vec![
        Field::hidden_name(),
        Field::fact("thread", "THRID", Thread::number),
        Field::fact("pid", "PID", Thread::pid),
        Field::fact("tid", "TID", Thread::tid),
        Field::fact("thread_name", "Name", Thread::own_name),
        Field::fact("kind", "Kind", Thread::kind),
        Field::fact("start", "Start", Thread::start),
        Field::fact("end", "End", Thread::end),
    ];
    fields.extend(metrics.iter().enumerate().map(|(at, &metric)| {
        let mut column = time(metric);
        if !SHOWN.contains(&metric) && !metric.is_counter() {
            column.heading.clear();
        }
        seconds(column, at)
    }));
    document(query, "thread_list", metrics, Thread::name, fields)
}

/// The kernel's threads.
pub fn lwp_list(query: &Query<'_>) -> Document {
    let metrics = [Metric::Total];
    if query.is_comparison() {
        return compared(query, "lwp_list", &metrics);
    }
    let total = Column {
        json: InJson::Under(&["values"]),
        ..time(Metric::Total)
    };
    let fields = vec![
        Field::hidden_name(),
        Field::fact("lwp", "LWP", Thread::tid),
        Field::fact("pid", "PID", Thread::pid),
        Field::fact("experiment", "EXPID", |thread: &Thread| {
            Value::Count(thread.experiment.into())
        }),
        Field::fact("thread", "THRID", Thread::number),
        Field::fact("kind", "Kind", Thread::kind),
        seconds(total, 0),
    ];
    let name = |thread: &Thread| format!("LWP {}", thread.row.tid);
    document(query, "lwp_list", &metrics, name, fields)
}

/// The lifetime and the time of each thread of compared experiments.
fn compared(query: &Query<'_>, view: &str, metrics: &[Metric]) -> Document {
    let mut fields = vec![
        Field::new("numbers", "", Thread::tid).json(InJson::Each),
        Field::new("pids", "", Thread::pid).json(InJson::Each),
        Field::new("threads", "", Thread::number).json(InJson::Each),
        Field::number("start", "Start", Thread::start).seconds(),
        Field::number("end", "End", Thread::end).seconds(),
    ];
    fields.extend(metrics.iter().enumerate().map(|(at, &metric)| {
        let column = time(metric);
        let label = column.heading.concat();
        seconds(Column { label, ..column }, at)
    }));
    fields.push(Field::name("Name"));
    let name = |thread: &Thread| thread.shared_name.clone();
    document(query, view, metrics, name, fields)
}

/// A list of threads with the seconds of some metrics.
fn document(
    query: &Query<'_>,
    view: &str,
    metrics: &[Metric],
    name: impl Fn(&Thread) -> String,
    fields: Vec<Field<'_, Thread>>,
) -> Document {
    let mut metrics = metrics.to_vec();
    // The order may be by another metric than those that are shown.
    metrics.extend(query.settings.sort.and_then(|key| match key.quantity {
        Quantity::Time(_, metric) => Some(metric),
        _ => None,
    }));
    let time = |thread: &Thread, metric| {
        let at = metrics.iter().position(|&known| known == metric)?;
        Some(thread.row.seconds[at])
    };
    let threads = |source: &Source<'_>| threads_of(source, &metrics);
    let (joined, order) = list::joined_in_order(query, threads, name, time);
    let table = list::table(query, &joined, fields);
    order.titled(query, query.document(view), TITLE, table)
}

/// The seconds of the metric that is the `at`-th of those asked for.
fn seconds<'f>(column: Column, at: usize) -> Field<'f, Thread> {
    Field::of(column, move |thread: &Thread| {
        Value::Number(thread.row.seconds[at])
    })
}

/// A metric under a heading of one line: `OMP Work s`.
fn time(metric: Metric) -> Column {
    let words = metric.words();
    let words = words.strip_prefix("Total ").unwrap_or(words);
    let unit = if metric.is_time() { " s" } else { "" };
    Column {
        heading: vec![format!("{words}{unit}")],
        ..Column::time(Quantity::Time(Flavour::Exclusive, metric))
    }
}
