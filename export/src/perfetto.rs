//! A trace of <https://ui.perfetto.dev>: protocol buffers.
//!
//! Each thread has a track with its states ([`states`]); regions, tasks and phases have tracks of their own.
//! Clock samples are `PerfSample`s with their stacks, so that a selection has a flame graph; those at switches
//! are not among them, since the trace gives all samples the same weight.

pub(crate) mod messages;
mod spans;
mod stacks;
mod states;
mod writer;

use std::collections::BTreeMap;
use std::io::{self, Write};

use experiment::ids::{ContextId, Nanos, ProcessId, ThreadId};
use experiment::rows::{Interval, Sample, SampleKind, SpanKind};
use experiment::state::Scheduling;
use omp_model::metrics::Metric;
use omp_model::profile::PathId;
use report::Query;
use report::timeline::Activity;
use untrusted::printable;

use crate::places::Places;
use crate::subject::{Constructs, Subject, scheduling};
use messages::{KERNEL, PerfSample, ProcessDescriptor, ThreadDescriptor, TrackDescriptor, USER};
use spans::Span;
use stacks::Stacks;
use states::{Piece, Shown, States};
use writer::{Field, PacketWriter};

/// The kinds of track of a thread or process.
#[derive(Clone, Copy)]
enum Kind {
    Process = 1,
    Phases,
    States,
    Regions,
    Tasks,
    Notes,
}

/// The number of a track.
const fn uuid(kind: Kind, of: u32) -> u64 {
    (kind as u64) << 32 | of as u64
}

pub(crate) fn write(query: &Query<'_>, out: &mut dyn Write) -> io::Result<()> {
    let subject = Subject::new(query);
    let places = Places::new(&subject);
    let threads = subject.threads(places.profile);
    let constructs = subject.constructs();
    let mut packets = PacketWriter::new(out);
    notes(&subject, &mut packets)?;
    tracks(&subject, &threads, &mut packets)?;
    marks(&subject, &threads, &constructs, &mut packets)?;
    samples(&subject, &places, &threads, &constructs, &mut packets)?;
    packets.flush()
}

/// What limits the accuracy of the trace, at its beginning; losses when they happened.
fn notes(subject: &Subject<'_>, packets: &mut PacketWriter<'_>) -> io::Result<()> {
    let track = uuid(Kind::Notes, 0);
    packets.track(TrackDescriptor {
        uuid: track,
        name: Some(format!("Recording: {}", subject.title())),
        ..TrackDescriptor::default()
    })?;
    for note in subject.notes(&[Metric::Total]) {
        packets.instant(track, 0, &note)?;
    }
    for loss in subject.analysis().experiment.header.losses.lost.iter() {
        for stretch in loss.stretches.iter() {
            packets.instant(track, stretch.from_ns, &report::lost::line(loss))?;
        }
    }
    Ok(())
}

/// Defines processes and threads.
fn tracks(
    subject: &Subject<'_>,
    threads: &[ThreadId],
    packets: &mut PacketWriter<'_>,
) -> io::Result<()> {
    let tables = subject.names.tables;
    let mut before = None;
    for &id in threads {
        let thread = &tables.threads[id.index()];
        let process = tables.processes.get(thread.process.index());
        let pid = process.map_or(0, |process| process.pid);
        if before != Some(thread.process) {
            before = Some(thread.process);
            let name = process.map_or("", |process| process.name.as_str());
            let executable = process.map_or("", |process| process.executable.as_str());
            packets.track(TrackDescriptor {
                uuid: uuid(Kind::Process, thread.process.0),
                process: Some(ProcessDescriptor {
                    pid,
                    cmdline: vec![printable(executable).into_owned()],
                    process_name: printable(name).into_owned(),
                }),
                ..TrackDescriptor::default()
            })?;
        }
        packets.track(TrackDescriptor {
            uuid: uuid(Kind::States, id.0),
            thread: Some(ThreadDescriptor {
                pid,
                tid: thread.tid,
                thread_name: subject.thread_name(id),
            }),
            ..TrackDescriptor::default()
        })?;
    }
    Ok(())
}

/// Writes regions, tasks and phases, each on a track below their thread's or process's.
fn marks(
    subject: &Subject<'_>,
    threads: &[ThreadId],
    constructs: &Constructs,
    packets: &mut PacketWriter<'_>,
) -> io::Result<()> {
    let rows = &subject.analysis().experiment;
    let tables = subject.names.tables;
    let span = |(context, start, length): (ContextId, Nanos, Nanos), fields| Span {
        range: start.0..start.0 + length.0,
        name: constructs.name(context).unwrap_or("<Unknown>").to_owned(),
        fields,
    };
    let mut regions = BTreeMap::<ThreadId, Vec<Span<'_>>>::new();
    for row in &rows.region_spans {
        let fields = vec![
            Field::Number("instance", row.within.region),
            Field::Number("team", row.team.into()),
            Field::Number("in task", row.within.task),
        ];
        let span = span((row.context, row.start, row.length), fields);
        regions.entry(row.thread).or_default().push(span);
    }
    let mut tasks = BTreeMap::<ThreadId, Vec<Span<'_>>>::new();
    for row in &rows.task_spans {
        let fields = vec![
            Field::Number("instance", row.within.task),
            Field::Number("in region", row.within.region),
        ];
        let span = span((row.context, row.start, row.length), fields);
        tasks.entry(row.thread).or_default().push(span);
    }
    for (kind, title, mut of_threads) in [
        (Kind::Regions, "Regions", regions),
        (Kind::Tasks, "Tasks", tasks),
    ] {
        for &thread in threads {
            if let Some(spans) = of_threads.remove(&thread) {
                let above = uuid(Kind::States, thread.0);
                below(
                    subject,
                    packets,
                    (uuid(kind, thread.0), above, title),
                    spans,
                )?;
            }
        }
    }
    let mut phases = BTreeMap::<ProcessId, Vec<Span<'_>>>::new();
    for span in &rows.spans {
        let name = match span.kind {
            SpanKind::Pause => "recording paused",
            SpanKind::Phase | SpanKind::OpenPhase => tables.phase_name(span.phase),
        };
        let span_of = Span {
            range: span.start.0..span.end().0,
            name: printable(name).into_owned(),
            fields: Vec::new(),
        };
        phases.entry(span.process).or_default().push(span_of);
    }
    for (process, spans) in phases {
        let of_process = |id: &ThreadId| tables.threads[id.index()].process == process;
        if threads.iter().any(of_process) {
            let above = uuid(Kind::Process, process.0);
            below(
                subject,
                packets,
                (uuid(Kind::Phases, process.0), above, "Phases"),
                spans,
            )?;
        }
    }
    Ok(())
}

/// Writes slices of times that the filter keeps on a track below another one.
fn below(
    subject: &Subject<'_>,
    packets: &mut PacketWriter<'_>,
    (track, above, title): (u64, u64, &str),
    mut spans: Vec<Span<'_>>,
) -> io::Result<()> {
    spans.retain(|span| !subject.leaves_out(&span.range));
    packets.track(TrackDescriptor {
        uuid: track,
        parent_uuid: Some(above),
        name: Some(title.to_owned()),
        ..TrackDescriptor::default()
    })?;
    spans::write(packets, track, spans)
}

/// A sample, and what it shows.
struct Seen {
    sample: Sample,
    activity: Activity,
    /// The stack; `None` if a filter leaves it out.
    path: Option<PathId>,
}

/// Writes states and samples as the samples are unpacked.
fn samples(
    subject: &Subject<'_>,
    places: &Places<'_>,
    threads: &[ThreadId],
    constructs: &Constructs,
    packets: &mut PacketWriter<'_>,
) -> io::Result<()> {
    let rows = &subject.analysis().experiment;
    let tables = subject.names.tables;
    let state_of = |id: u32| {
        let state = tables.thread_states.get(id);
        state.map_or(Activity::Unknown, |state| {
            Activity::of_state(subject.names.symbols.state_of(*state))
        })
    };
    let mut intervals: Vec<Interval> = rows.intervals.clone();
    intervals.sort_unstable_by_key(|row| (row.thread, row.start));
    let period = match (1e3 * rows.header.sampling.period_us) as u64 {
        0 => 1_000_000,
        period => period,
    };
    let mut states: Vec<Option<States<'_>>> = Vec::new();
    states.resize_with(tables.threads.len(), || None);
    for &id in threads {
        let start = intervals.partition_point(|row| row.thread < id);
        let end = intervals.partition_point(|row| row.thread <= id);
        let own = &intervals[start..end];
        states[id.index()] = Some(States::new(own, &subject.life(id), period));
    }
    let mut stacks = Stacks::new(subject, places.profile);
    let mut written = Ok(());
    let mut pieces: Vec<Piece<'_>> = Vec::new();
    let see = |sample: &Sample| {
        let place = places.of(sample).map(|number| places.get(number));
        Seen {
            sample: *sample,
            activity: place.map_or_else(|| state_of(sample.thread_state.0), |it| it.activity),
            path: place.map(|it| it.path),
        }
    };
    let mut take = |seen: &[Seen], packets: &mut PacketWriter<'_>| -> io::Result<()> {
        for Seen {
            sample,
            activity,
            path,
        } in seen
        {
            let Some(states) = states
                .get_mut(sample.thread.index())
                .and_then(Option::as_mut)
            else {
                continue;
            };
            states.sample(sample.time.0, *activity, &mut |piece| pieces.push(piece));
            let track = uuid(Kind::States, sample.thread.0);
            for piece in pieces.drain(..) {
                state(subject, constructs, packets, track, &piece)?;
            }
            let is_on_cpu = sample.kind.scheduling() == Scheduling::Running;
            if let Some(path) = path.filter(|_| is_on_cpu) {
                let callstack_iid = stacks.number(path, &mut packets.pending);
                packets.sample(sample.time.0, perf_sample(subject, sample, callstack_iid))?;
            }
        }
        Ok(())
    };
    rows.samples.in_order(
        |rows| rows.iter().map(see).collect::<Vec<Seen>>(),
        |_, seen| {
            if written.is_ok() {
                written = take(&seen, packets);
            }
        },
    );
    written?;
    for &id in threads {
        if let Some(states) = states[id.index()].take() {
            states.finish(&mut |piece| pieces.push(piece));
            for piece in pieces.drain(..) {
                state(
                    subject,
                    constructs,
                    packets,
                    uuid(Kind::States, id.0),
                    &piece,
                )?;
            }
        }
    }
    Ok(())
}

fn perf_sample(subject: &Subject<'_>, sample: &Sample, callstack_iid: u64) -> PerfSample {
    let tables = subject.names.tables;
    let thread = &tables.threads[sample.thread.index()];
    let process = tables.processes.get(thread.process.index());
    PerfSample {
        cpu: sample.cpu.into(),
        pid: process.map_or(0, |process| process.pid as u32),
        tid: thread.tid as u32,
        callstack_iid,
        cpu_mode: match sample.kind {
            SampleKind::Kernel => KERNEL,
            _ => USER,
        },
    }
}

/// Writes a piece of a thread's life.
fn state(
    subject: &Subject<'_>,
    constructs: &Constructs,
    packets: &mut PacketWriter<'_>,
    track: u64,
    piece: &Piece<'_>,
) -> io::Result<()> {
    if subject.leaves_out(&(piece.start..piece.end)) {
        return Ok(());
    }
    let (name, fields) = match piece.shown {
        Shown::Listed(row) => {
            let state = subject.names.tables.thread_states.get(row.thread_state.0);
            let activity = state.map_or(Activity::Unknown, |state| {
                Activity::of_state(subject.names.symbols.state_of(*state))
            });
            let mut fields = vec![
                Field::Text("thread", scheduling(row.scheduling)),
                Field::Text("known by", "a listed interval"),
            ];
            let construct = state.and_then(|state| constructs.name(state.context));
            fields.extend(construct.map(|name| Field::Text("construct", name)));
            if row.within.region > 0 {
                fields.push(Field::Number("region instance", row.within.region));
            }
            if row.within.task > 0 {
                fields.push(Field::Number("task instance", row.within.task));
            }
            (activity.words(), fields)
        }
        Shown::Sampled(activity) => (activity.words(), vec![Field::Text("known by", "samples")]),
        Shown::NotListed => (
            "not listed",
            vec![Field::Text(
                "known by",
                "nothing: states too short to be listed",
            )],
        ),
    };
    packets.begin(track, piece.start, name, &fields)?;
    packets.end(track, piece.end)
}
