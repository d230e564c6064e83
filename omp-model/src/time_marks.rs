//! Phases and sample points by time: which phase a process was in, and which sample a time lies in.

use experiment::Experiment;
use experiment::ids::{PhaseId, ProcessId};
use experiment::rows::{Span, SpanKind};
use experiment::tables::Tables;
use rustc_hash::FxHashMap;

/// The phases of each process and the sample points of each experiment, by time.
#[derive(Clone, Debug, Default)]
pub struct TimeMarks {
    /// From each time on, in nanoseconds, the innermost phase; ascending.
    phases: FxHashMap<ProcessId, Vec<(i64, PhaseId)>>,
    /// By experiment, from 1: the times of its points, ascending.
    points: FxHashMap<u32, Vec<i64>>,
    /// Pauses by experiment, ascending.
    pauses: FxHashMap<u32, Vec<(u64, u64)>>,
    /// By [`ProcessId`].
    experiments: Vec<u32>,
}

impl TimeMarks {
    /// Those of an experiment, or of several united; `origins` are the experiments of its threads.
    pub fn of(experiment: &Experiment, origins: &[u32]) -> TimeMarks {
        let tables = &experiment.tables;
        let mut marks = TimeMarks {
            experiments: vec![1; tables.processes.len()],
            ..TimeMarks::default()
        };
        for (thread, &origin) in tables.threads.iter().zip(origins) {
            if let Some(known) = marks.experiments.get_mut(thread.process.index()) {
                *known = origin;
            }
        }
        let mut spans = FxHashMap::<ProcessId, Vec<&Span>>::default();
        for span in &experiment.spans {
            match span.kind {
                SpanKind::Pause => {
                    let pauses = marks.pauses.entry(marks.experiment_of(span.process));
                    let pauses = pauses.or_default();
                    pauses.push((span.start.0, span.end().0));
                }
                SpanKind::Phase | SpanKind::OpenPhase if span.length.0 > 0 => {
                    spans.entry(span.process).or_default().push(span);
                }
                _ => {}
            }
        }
        marks.pauses.values_mut().for_each(|it| it.sort_unstable());
        for (process, spans) in spans {
            marks.phases.insert(process, changes(&spans, tables));
        }
        for point in &experiment.sample_points {
            let points = marks.points.entry(marks.experiment_of(point.process));
            points.or_default().push(point.time.0 as i64);
        }
        marks.points.values_mut().for_each(|it| it.sort_unstable());
        marks
    }

    /// The number of a process's experiment, from 1.
    pub fn experiment_of(&self, process: ProcessId) -> u32 {
        self.experiments.get(process.index()).copied().unwrap_or(1)
    }

    /// The innermost phase of a process at a time in nanoseconds; [`PhaseId::NONE`] outside all.
    pub fn phase_at(&self, process: ProcessId, time: i64) -> PhaseId {
        let changes = self.phases.get(&process).map_or(&[][..], Vec::as_slice);
        let before = changes.partition_point(|change| change.0 <= time);
        let last = before.checked_sub(1).and_then(|last| changes.get(last));
        last.map_or(PhaseId::NONE, |change| change.1)
    }

    /// The number of the sample in which a time of an experiment lies, from 1: a sample ends at its
    /// point.
    pub fn sample_at(&self, experiment: u32, time: i64) -> i64 {
        let points = self.points.get(&experiment).map_or(&[][..], Vec::as_slice);
        points.partition_point(|&point| point <= time) as i64 + 1
    }

    /// Whether an experiment has sample points.
    pub fn has_points(&self, experiment: u32) -> bool {
        self.points.contains_key(&experiment)
    }

    /// Whether the process had phases.
    pub fn has_phases(&self, process: ProcessId) -> bool {
        self.phases.contains_key(&process)
    }

    /// The times at which phases change, of all processes, in no order.
    pub fn phase_times(&self) -> impl Iterator<Item = i64> + '_ {
        self.phases.values().flatten().map(|change| change.0)
    }

    /// The times of sample points, of all experiments, in no order.
    pub fn point_times(&self) -> impl Iterator<Item = i64> + '_ {
        self.points.values().flatten().copied()
    }

    /// How many nanoseconds of a span recording was not paused.
    pub fn recorded(&self, span: &Span) -> u64 {
        let pauses = self.pauses.get(&self.experiment_of(span.process));
        let pauses = pauses.map_or(&[][..], Vec::as_slice);
        let (start, end) = (span.start.0, span.end().0);
        let first = pauses.partition_point(|pause| pause.1 <= start);
        let within = pauses.iter().skip(first).take_while(|pause| pause.0 < end);
        let paused: u64 = within
            .map(|pause| pause.1.min(end).saturating_sub(pause.0.max(start)))
            .sum();
        span.length.0.saturating_sub(paused)
    }
}

/// The innermost phase from each time on, by the spans of a process.
fn changes(spans: &[&Span], tables: &Tables) -> Vec<(i64, PhaseId)> {
    let depth = |phase: PhaseId| tables.phases_of(phase).count() as i64;
    let mut all: Vec<(u64, bool, i64, PhaseId)> = Vec::with_capacity(2 * spans.len());
    for span in spans {
        let parent = tables.phases.get(span.phase.0).map(|phase| phase.parent);
        let depth = depth(span.phase);
        all.push((span.start.0, true, depth, span.phase));
        // Inner phases end before outer ones, and both before others begin.
        all.push((span.end().0, false, -depth, parent.unwrap_or(PhaseId::NONE)));
    }
    all.sort_unstable_by_key(|&(time, begins, depth, _)| (time, begins, depth));
    let mut changes: Vec<(i64, PhaseId)> = Vec::with_capacity(all.len());
    for (time, _, _, phase) in all {
        match changes.last_mut() {
            Some(last) if last.0 == time as i64 => last.1 = phase,
            _ => changes.push((time as i64, phase)),
        }
    }
    changes
}

#[cfg(test)]
mod tests {
    use experiment::ids::{NameId, Nanos};
    use experiment::rows::{PointKind, SamplePoint};
    use experiment::tables::{Phase, Process, Thread, ThreadKind};

    use super::*;

    #[test]
    fn times_lie_in_the_innermost_phase_and_in_the_sample_that_ends_next() {
        let mut experiment = Experiment::default();
        let tables = &mut experiment.tables;
        let name = tables.name("x".to_owned());
        let outer = tables.phase(Phase {
            parent: PhaseId::NONE,
            name,
        });
        let inner = tables.phase(Phase {
            parent: outer,
            name,
        });
        tables.processes.push(Process {
            pid: 1,
            parent: None,
            name: String::new(),
            executable: String::new(),
        });
        tables.threads.push(Thread {
            process: ProcessId(0),
            tid: 1,
            name: NameId::NONE,
            birth: Nanos(0),
            death: None,
            kind: ThreadKind::Initial,
        });
        assert_eq!(tables.phases_of(inner).collect::<Vec<_>>(), [inner, outer]);
        assert_eq!(tables.phase_name(inner), "x");
        let span = |kind, phase, start: u64, end: u64| Span {
            process: ProcessId(0),
            kind,
            phase,
            start: Nanos(start),
            length: Nanos(end - start),
        };
        experiment.spans = vec![
            span(SpanKind::Phase, inner, 20, 30),
            span(SpanKind::Phase, inner, 30, 40),
            span(SpanKind::Phase, inner, 35, 35),
            span(SpanKind::Phase, outer, 10, 40),
            span(SpanKind::OpenPhase, outer, 40, 60),
            span(SpanKind::Pause, PhaseId::NONE, 25, 32),
            span(SpanKind::Pause, PhaseId::NONE, 50, 70),
        ];
        experiment.sample_points = [15, 45]
            .map(|time| SamplePoint {
                time: Nanos(time),
                process: ProcessId(0),
                kind: PointKind::Call,
                name: NameId::NONE,
                user: Nanos(0),
                system: Nanos(0),
                minor_faults: 0,
                major_faults: 0,
            })
            .to_vec();
        let marks = TimeMarks::of(&experiment, &[1]);
        let at = |time| marks.phase_at(ProcessId(0), time);
        let phases = [9, 10, 20, 29, 30, 39, 40, 59, 60].map(at);
        let (none, all) = (PhaseId::NONE, inner);
        assert_eq!(
            phases,
            [none, outer, all, all, all, all, outer, outer, none]
        );
        assert_eq!(
            [0, 14, 15, 44, 45].map(|time| marks.sample_at(1, time)),
            [1, 1, 2, 2, 3]
        );
        assert_eq!(marks.sample_at(2, 99), 1);
        let recorded = experiment.spans.iter().map(|span| marks.recorded(span));
        assert_eq!(recorded.collect::<Vec<_>>(), [5, 8, 0, 23, 10, 0, 0]);
    }
}
