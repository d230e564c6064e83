//! The tables of recordings and their threads.

use std::io;
use std::path::Path;

use experiment::header::Header;
use omp_model::metrics::Metric;
use omp_model::profile::{Inline, ViewMode};
use omp_model::views::threads::{kind_name, threads};
use report::lost;
use untrusted::printable;

use super::schema::{RECORDING, THREADS, VERSION};
use super::table::{Table, Value};
use crate::places::MOST_BY_SECOND;
use crate::subject::{EXPORTER, Subject};

/// The metrics of a thread.
const METRICS: [Metric; 3] = [Metric::Total, Metric::OmpWork, Metric::OmpWait];

fn rank(header: &Header) -> Value<'static> {
    Value::of(header.rank.as_ref(), |rank| Value::id(rank.number))
}

pub(super) fn write_threads(subject: &Subject<'_>, folder: &Path) -> io::Result<()> {
    let tables = subject.names.tables;
    let mut table = Table::create(folder, "threads.parquet", &THREADS)?;
    for row in threads(subject.profile(), tables, &METRICS) {
        let recording = subject.recording_of(row.thread);
        let header = subject.header_of(recording);
        let process = tables.threads[row.thread.index()].process;
        let process = tables.processes.get(process.index());
        let process = process.map_or("", |it| it.name.as_str());
        let [total, work, wait] = std::array::from_fn(|at| row.seconds[at]);
        table.row([
            Value::thread(row.thread),
            Value::id(recording),
            Value::Text(&printable(&header.host)),
            rank(header),
            Value::Integer(row.pid),
            Value::text(&printable(process)),
            Value::Integer(row.tid),
            Value::text(&printable(&row.name)),
            Value::Text(kind_name(row.kind)),
            Value::count(row.birth.0),
            Value::of(row.death, |it| Value::count(it.0)),
            Value::Double(total),
            Value::Double(work),
            Value::Double(wait),
        ])?;
    }
    table.finish()
}

pub(super) fn write_recordings(subject: &Subject<'_>, folder: &Path) -> io::Result<()> {
    let settings = subject.source.settings;
    let (_, estimated) = subject.source.profile_in(settings.mode);
    let notes = subject.notes(subject.analysis().available().metrics());
    let filter = settings.filter.as_ref().map_or("", |filter| filter.text());
    let filter = printable(filter);
    let is_by_second = subject.analysis().experiment.samples.len() <= MOST_BY_SECOND;
    let mut table = Table::create(folder, "recording.parquet", &RECORDING)?;
    for (number, source) in (1..).zip(&subject.query.each) {
        let experiment = &source.analysis.experiment;
        let header = &experiment.header;
        let lost = header.losses.lost.iter().map(lost::line);
        let runtimes = header.runtimes.iter();
        let runtimes = runtimes.map(|it| printable(&it.version).into_owned());
        let ranks = header.rank.as_ref().and_then(|rank| rank.size);
        let job = header.rank.as_ref().map_or("", |rank| rank.job.as_str());
        table.row([
            Value::Integer(number),
            Value::Integer(VERSION),
            Value::Text(EXPORTER),
            Value::Text(&source.analysis.name),
            Value::Text(&header.command_line()),
            Value::Text(&printable(&header.host)),
            rank(header),
            Value::of(ranks, Value::id),
            Value::text(&printable(job)),
            Value::Timestamp((1e6 * header.started_unix) as i64),
            Value::count(experiment.duration().0),
            Value::count(header.paused_ns),
            Value::of(header.exit_status, Value::Integer),
            Value::text(&printable(&header.system)),
            Value::text(&printable(&header.cpu_model)),
            Value::id(header.cpus),
            Value::Texts(&runtimes.collect::<Vec<_>>()),
            Value::text(&printable(&header.sampling.event)),
            Value::Double(header.sampling.period_us),
            Value::count(header.sampling.samples),
            Value::count(header.sampling.switch_samples),
            Value::Boolean(header.sampling.switches),
            Value::Texts(&lost.collect::<Vec<_>>()),
            Value::Texts(&notes),
            Value::Text(match settings.mode {
                ViewMode::User | ViewMode::Expert => "user",
                ViewMode::Machine => "machine",
            }),
            Value::Boolean(settings.inline == Inline::On),
            Value::text(&filter),
            Value::Text(if is_by_second { "second" } else { "recording" }),
            Value::Double(estimated),
        ])?;
    }
    table.finish()
}
