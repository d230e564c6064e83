//! Phases that the program named: how often, how long, and what its threads did meanwhile.

use std::collections::BTreeMap;

use experiment::Experiment;
use experiment::ids::{NameId, PhaseId, ThreadId};
use experiment::rows::{PhaseSum, SpanKind};
use experiment::state::{Scheduling, State};
use experiment::tables::Tables;
use rustc_hash::FxHashMap;

use crate::time_marks::TimeMarks;

/// All phases of one name. Times are in seconds, and contain those of phases within.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct PhaseRow {
    /// The name.
    pub name: String,
    /// The number of the name, which is the value of the filter word `PHASE` where such a phase is the
    /// innermost.
    pub number: u32,
    /// How many such phases began, and ended or were left open.
    pub count: u64,
    /// How many of them ended with their process or with the recording.
    pub open: u64,
    /// Wall time, summed; phases of a name within others of that name are not counted twice.
    pub wall: f64,
    /// The longest one's wall time.
    pub longest: f64,
    /// Thread time: that of all threads of the process.
    pub total: f64,
    /// Its part on a CPU and in no wait of OpenMP: `OMP Work`.
    pub work: f64,
    /// The rest: `OMP Wait`.
    pub wait: f64,
}

/// The phases, the longest first. Time in which recording was paused is not in them.
pub fn phases(experiment: &Experiment, marks: &TimeMarks) -> Vec<PhaseRow> {
    let tables = &experiment.tables;
    let mut rows = BTreeMap::<NameId, PhaseRow>::new();
    for span in &experiment.spans {
        let (SpanKind::Phase | SpanKind::OpenPhase) = span.kind else {
            continue;
        };
        let Some(name) = name_of(tables, span.phase) else {
            continue;
        };
        let row = row(&mut rows, tables, name);
        row.count += 1;
        row.open += u64::from(span.kind == SpanKind::OpenPhase);
        let mut outer = tables.phases_of(span.phase).skip(1);
        if !outer.any(|phase| name_of(tables, phase) == Some(name)) {
            let wall = marks.recorded(span) as f64 / 1e9;
            row.wall += wall;
            row.longest = row.longest.max(wall);
        }
    }
    let stolen = Stolen::of(experiment);
    for sum in experiment.phase_sums.iter() {
        let (seconds, work) = stolen.parts(&sum);
        let mut names: Vec<NameId> = tables
            .phases_of(sum.phase)
            .filter_map(|phase| name_of(tables, phase))
            .collect();
        names.sort_unstable();
        names.dedup();
        for name in names {
            let row = row(&mut rows, tables, name);
            row.total += seconds;
            row.work += work;
            row.wait += seconds - work;
        }
    }
    let mut rows: Vec<PhaseRow> = rows.into_values().collect();
    rows.sort_by(|one, other| other.wall.total_cmp(&one.wall));
    rows
}

fn row<'a>(
    rows: &'a mut BTreeMap<NameId, PhaseRow>,
    tables: &Tables,
    name: NameId,
) -> &'a mut PhaseRow {
    rows.entry(name).or_insert_with(|| PhaseRow {
        name: tables.names.get(name.0).cloned().unwrap_or_default(),
        number: name.0,
        ..PhaseRow::default()
    })
}

fn name_of(tables: &Tables, phase: PhaseId) -> Option<NameId> {
    tables.phases.get(phase.0).map(|phase| phase.name)
}

/// The share of time on CPUs that a hypervisor took, which phases do not have by themselves: by
/// thread, second and state.
struct Stolen(FxHashMap<(ThreadId, u32, State), f64>);

impl Stolen {
    fn of(experiment: &Experiment) -> Stolen {
        let mut times = FxHashMap::<(ThreadId, u32, State), [u64; 2]>::default();
        if experiment.header.sampling.stolen_ns > 0 && !experiment.phase_sums.is_empty() {
            for sum in experiment.sums.iter() {
                let state = experiment.tables.thread_states.get(sum.thread_state.0);
                let at = match sum.scheduling {
                    Scheduling::Running => 0,
                    Scheduling::Stolen => 1,
                    _ => continue,
                };
                if let Some(state) = state {
                    let key = (sum.thread, sum.slice, state.state);
                    times.entry(key).or_default()[at] += sum.time.0;
                }
            }
        }
        let share = |[running, stolen]: [u64; 2]| stolen as f64 / (running + stolen).max(1) as f64;
        let shares = times.into_iter().map(|(key, times)| (key, share(times)));
        Stolen(shares.collect())
    }

    /// Seconds of a sum, and the part of them that is work.
    fn parts(&self, sum: &PhaseSum) -> (f64, f64) {
        let seconds = sum.time.seconds();
        if sum.state.is_wait() || sum.scheduling != Scheduling::Running {
            return (seconds, 0.0);
        }
        let stolen = self.0.get(&(sum.thread, sum.slice, sum.state));
        (seconds, seconds * (1.0 - stolen.copied().unwrap_or(0.0)))
    }
}
