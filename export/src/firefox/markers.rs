//! Markers: instances of regions, tasks, long waits, phases, sample points and losses.

use std::collections::BTreeMap;
use std::ops::Range;

use experiment::ids::{ContextId, NameId, PhaseId, ProcessId, ThreadId};
use experiment::rows::{PointKind, SpanKind};
use experiment::state::Scheduling;
use omp_model::states::RefinedState;
use report::lost;
use report::timeline::Activity;
use serde_json::{Value as Json, json};
use untrusted::printable;

use super::meta::{OTHER, category};
use crate::subject::{Subject, scheduling};

/// A marker of a thread.
pub(super) struct Marker {
    pub(super) name: String,
    pub(super) range: Range<u64>,
    /// Whether it is a point in time.
    pub(super) is_point: bool,
    pub(super) category: u64,
    /// Its type and fields.
    pub(super) data: Json,
}

/// The kinds of marker with their fields.
pub(super) fn schemas() -> Json {
    let field = |key: &str, label: &str, format: &str| -> Json {
        json!({"key": key, "label": label, "format": format, "searchable": true})
    };
    let schema = |name: &str, label: &str, fields: Vec<Json>, about: &str| {
        json!({
            "name": name,
            "display": ["marker-chart", "marker-table", "timeline-overview"],
            "tooltipLabel": label,
            "tableLabel": label,
            "chartLabel": label,
            "description": about,
            "fields": fields,
        })
    };
    json!([
        schema(
            "OmpRegion",
            "{marker.data.construct}",
            vec![
                field("construct", "Region", "string"),
                field("instance", "Instance", "integer"),
                field("team", "Team", "integer"),
                field("task", "In task", "integer"),
            ],
            "An instance of a parallel region of at least a millisecond, on the thread that encountered it",
        ),
        schema(
            "OmpTask",
            "{marker.data.construct}",
            vec![
                field("construct", "Task", "string"),
                field("instance", "Instance", "integer"),
                field("region", "In region", "integer"),
            ],
            "A piece of an explicit task of at least a millisecond",
        ),
        schema(
            "OmpWait",
            "{marker.data.state}, {marker.data.scheduling}",
            vec![
                field("state", "State", "string"),
                field("scheduling", "Thread", "string"),
                field("construct", "In", "string"),
                field("region", "Region instance", "integer"),
                field("task", "Task instance", "integer"),
            ],
            "A wait, or time off the CPU, that is listed by itself: mostly of at least a millisecond",
        ),
        schema(
            "Phase",
            "{marker.data.phase}",
            vec![field("phase", "Phase", "string")],
            "A phase that the program named, or a pause of the recording",
        ),
        schema(
            "SamplePoint",
            "{marker.data.point}",
            vec![field("point", "Sample point", "string")],
            "A sample point",
        ),
        schema(
            "Loss",
            "{marker.data.loss}",
            vec![field("loss", "Lost", "string")],
            "What the recording lost, from the first time to the last",
        ),
    ])
}

/// Markers by thread, of those threads and of the times that a filter keeps.
pub(super) fn by_thread(
    subject: &Subject<'_>,
    threads: &[ThreadId],
) -> BTreeMap<ThreadId, Vec<Marker>> {
    let mut markers: BTreeMap<ThreadId, Vec<Marker>> =
        threads.iter().map(|&thread| (thread, Vec::new())).collect();
    let mut add = |thread: Option<ThreadId>, marker: Marker| {
        if let Some(markers) = thread.and_then(|thread| markers.get_mut(&thread))
            && !subject.leaves_out(&marker.range)
        {
            markers.push(marker);
        }
    };
    constructs(subject, &mut add);
    let tables = subject.names.tables;
    let primary = |process: ProcessId| {
        let of_process = |id: &&ThreadId| tables.threads[id.index()].process == process;
        threads.iter().find(of_process).copied()
    };
    let rows = &subject.analysis().experiment;
    for span in &rows.spans {
        let phase = match span.kind {
            SpanKind::Pause => "recording paused",
            SpanKind::Phase | SpanKind::OpenPhase => tables.phase_name(span.phase),
        };
        let phase = printable(phase);
        let name = match span.phase {
            PhaseId::NONE => "Pause",
            _ => "Phase",
        };
        let data = json!({"type": "Phase", "phase": phase});
        add(
            primary(span.process),
            marker(name, span.start.0..span.end().0, data),
        );
    }
    for point in &rows.sample_points {
        let name = match point.name {
            NameId::NONE => None,
            name => tables.names.get(name.0).map(|name| printable(name)),
        };
        let told = match point.kind {
            PointKind::Call => "call",
            PointKind::Signal => "signal",
            PointKind::Period => "period",
        };
        let data = json!({"type": "SamplePoint", "point": name.as_deref().unwrap_or(told)});
        let time = point.time.0;
        let point_of = Marker {
            is_point: true,
            ..marker("Sample point", time..time, data)
        };
        add(primary(point.process), point_of);
    }
    for loss in rows.header.losses.lost.iter() {
        if let Some((from, to)) = loss.stretches.span() {
            let data = json!({"type": "Loss", "loss": lost::line(loss)});
            add(threads.first().copied(), marker("Loss", from..to, data));
        }
    }
    for markers in markers.values_mut() {
        markers.sort_by_key(|marker| marker.range.start);
    }
    markers
}

fn marker(name: &str, range: Range<u64>, data: Json) -> Marker {
    Marker {
        name: name.to_owned(),
        range,
        is_point: false,
        category: OTHER,
        data,
    }
}

/// Regions, tasks and waits.
fn constructs(subject: &Subject<'_>, add: &mut impl FnMut(Option<ThreadId>, Marker)) {
    let rows = &subject.analysis().experiment;
    if rows.region_spans.is_empty() && rows.task_spans.is_empty() && rows.intervals.is_empty() {
        return;
    }
    let constructs = subject.constructs();
    let name = |context: ContextId| constructs.name(context).unwrap_or("<Unknown>");
    let work = category(Activity::State(RefinedState::Work));
    for span in &rows.region_spans {
        let data = json!({
            "type": "OmpRegion",
            "construct": name(span.context),
            "instance": span.within.region,
            "team": span.team,
            "task": span.within.task,
        });
        let range = span.start.0..span.start.0 + span.length.0;
        let region = marker("OMP region", range, data);
        add(
            Some(span.thread),
            Marker {
                category: work,
                ..region
            },
        );
    }
    for span in &rows.task_spans {
        let data = json!({
            "type": "OmpTask",
            "construct": name(span.context),
            "instance": span.within.task,
            "region": span.within.region,
        });
        let range = span.start.0..span.start.0 + span.length.0;
        let task = marker("OMP task", range, data);
        add(
            Some(span.thread),
            Marker {
                category: work,
                ..task
            },
        );
    }
    for row in &rows.intervals {
        let Some(state) = rows.tables.thread_states.get(row.thread_state.0) else {
            continue;
        };
        let recorded = subject.names.symbols.state_of(*state);
        if !recorded.is_wait() && row.scheduling == Scheduling::Running {
            continue;
        }
        let activity = Activity::of_state(recorded);
        let data = json!({
            "type": "OmpWait",
            "state": activity.words(),
            "scheduling": scheduling(row.scheduling),
            "construct": constructs.name(state.context),
            "region": row.within.region,
            "task": row.within.task,
        });
        let wait = marker("OMP wait", row.start.0..row.end().0, data);
        let category = category(activity);
        add(Some(row.thread), Marker { category, ..wait });
    }
}
