//! The table of listed intervals: states, instances of regions, pieces of tasks, phases, pauses.

use std::io;
use std::ops::Range;
use std::path::Path;

use experiment::ids::{ContextId, ProcessId, ThreadId};
use experiment::rows::{SpanKind, Within};
use experiment::tables::Tables;
use report::timeline::Activity;
use untrusted::printable;

use super::regions::Regions;
use super::schema::INTERVALS;
use super::table::{Table, Value};
use crate::subject::{Constructs, Subject, scheduling};

type Rows = Table<{ INTERVALS.len() }>;

/// Writes rows.
struct Intervals<'a> {
    subject: &'a Subject<'a>,
    tables: &'a Tables,
    regions: &'a Regions,
    constructs: Constructs,
    /// By thread: whether a filter keeps any of its time.
    kept: Vec<bool>,
    table: Rows,
}

/// What a row has beside its time.
struct Row<'r> {
    kind: &'r str,
    state: Value<'r>,
    scheduling: Value<'r>,
    context: ContextId,
    within: Within,
    team: Value<'r>,
}

pub(super) fn write(subject: &Subject<'_>, regions: &Regions, folder: &Path) -> io::Result<()> {
    let rows = &subject.analysis().experiment;
    let tables = subject.names.tables;
    let mut kept = vec![false; tables.threads.len()];
    for thread in subject.threads(subject.profile()) {
        kept[thread.index()] = true;
    }
    let mut out = Intervals {
        subject,
        tables,
        regions,
        constructs: subject.constructs(),
        kept,
        table: Table::create(folder, "intervals.parquet", &INTERVALS)?,
    };
    let plain = |kind, context, within| Row {
        kind,
        state: Value::Null,
        scheduling: Value::Null,
        context,
        within,
        team: Value::Null,
    };
    for row in &rows.intervals {
        let Some(state) = tables.thread_states.get(row.thread_state.0) else {
            continue;
        };
        let activity = Activity::of_state(subject.names.symbols.state_of(*state));
        let range = row.start.0..row.end().0;
        let state = Row {
            state: Value::Text(activity.words()),
            scheduling: Value::Text(scheduling(row.scheduling)),
            ..plain("state", state.context, row.within)
        };
        out.of_thread(row.thread, range, &state)?;
    }
    for row in &rows.region_spans {
        let range = row.start.0..row.start.0 + row.length.0;
        let region = Row {
            team: Value::id(row.team.into()),
            ..plain("region", row.context, row.within)
        };
        out.of_thread(row.thread, range, &region)?;
    }
    for row in &rows.task_spans {
        let range = row.start.0..row.start.0 + row.length.0;
        let task = plain("task", row.context, row.within);
        out.of_thread(row.thread, range, &task)?;
    }
    for row in &rows.spans {
        let (kind, name) = match row.kind {
            SpanKind::Pause => ("pause", ""),
            SpanKind::Phase | SpanKind::OpenPhase => ("phase", tables.phase_name(row.phase)),
        };
        let range = row.start.0..row.end().0;
        out.of_process(row.process, range, kind, &printable(name))?;
    }
    out.table.finish()
}

impl Intervals<'_> {
    fn of_thread(&mut self, thread: ThreadId, range: Range<u64>, row: &Row<'_>) -> io::Result<()> {
        let is_kept = self.kept.get(thread.index()).is_some_and(|kept| *kept);
        if !is_kept || self.subject.leaves_out(&range) {
            return Ok(());
        }
        let process = self.tables.threads[thread.index()].process;
        self.table.row([
            Value::Text(row.kind),
            Value::id(self.subject.recording_of(thread)),
            Value::Integer(self.pid(process)),
            Value::thread(thread),
            Value::count(range.start),
            Value::count(range.end - range.start),
            row.state,
            row.scheduling,
            Value::of(self.constructs.name(row.context), Value::Text),
            self.regions.of(row.context),
            Value::instance(row.within.region),
            Value::instance(row.within.task),
            row.team,
        ])
    }

    fn of_process(
        &mut self,
        process: ProcessId,
        range: Range<u64>,
        kind: &str,
        name: &str,
    ) -> io::Result<()> {
        let threads = (0..).map(ThreadId).zip(&self.tables.threads);
        let mut own = threads.filter(|(_, row)| row.process == process);
        let kept = own.find(|(thread, _)| self.kept[thread.index()]);
        let Some((thread, _)) = kept.filter(|_| !self.subject.leaves_out(&range)) else {
            return Ok(());
        };
        self.table.row([
            Value::Text(kind),
            Value::id(self.subject.recording_of(thread)),
            Value::Integer(self.pid(process)),
            Value::Null,
            Value::count(range.start),
            Value::count(range.end - range.start),
            Value::Null,
            Value::Null,
            Value::text(name),
            Value::Null,
            Value::Null,
            Value::Null,
            Value::Null,
        ])
    }

    fn pid(&self, process: ProcessId) -> i32 {
        let row = self.tables.processes.get(process.index());
        row.map_or(0, |row| row.pid)
    }
}
