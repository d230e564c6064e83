//! Samples: the stretches of time between sample points.

use experiment::Experiment;
use experiment::rows::{PointKind, SamplePoint};

use crate::time_marks::TimeMarks;

/// A stretch of time that ends at a sample point, or at the end of the recording.
#[derive(Clone, Debug, PartialEq)]
pub struct SampleRow {
    /// The number of its experiment, from 1.
    pub experiment: u32,
    /// Its number, from 1, which is the value of the filter word `SAMPLE`.
    pub number: u64,
    /// Its start in seconds.
    pub start: f64,
    /// Its end in seconds.
    pub end: f64,
    /// The name of the point that ends it, or what made that point.
    pub label: String,
    /// What the point's process used since its last point before; `None` without a point.
    pub used: Option<Used>,
}

/// What a process used.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Used {
    /// Seconds of CPU time in user mode.
    pub user: f64,
    /// Seconds of CPU time in the kernel.
    pub system: f64,
    /// Page faults without input.
    pub minor_faults: u64,
    /// Page faults that waited for input.
    pub major_faults: u64,
}

/// The samples of an experiment, or of several united.
pub fn samples(experiment: &Experiment, marks: &TimeMarks) -> Vec<SampleRow> {
    let mut points: Vec<(u32, &SamplePoint)> = experiment
        .sample_points
        .iter()
        .map(|point| (marks.experiment_of(point.process), point))
        .collect();
    points.sort_by_key(|(experiment, point)| (*experiment, point.time));
    let mut rows: Vec<SampleRow> = Vec::new();
    for at in 0..points.len() {
        let (number, point) = points[at];
        let before = points[..at].iter().rev();
        let before = before.take_while(|(other, _)| *other == number);
        let last = before.clone().find(|(_, it)| it.process == point.process);
        let used = since(point, last.map(|(_, it)| *it));
        rows.push(SampleRow {
            experiment: number,
            number: before.clone().count() as u64 + 1,
            start: before
                .clone()
                .next()
                .map_or(0.0, |(_, it)| it.time.seconds()),
            end: point.time.seconds(),
            label: label(experiment, point),
            used: Some(used),
        });
        let is_last = points.get(at + 1).is_none_or(|(next, _)| *next != number);
        let end = experiment.duration().seconds();
        if is_last && point.time.seconds() < end {
            rows.push(SampleRow {
                experiment: number,
                number: before.count() as u64 + 2,
                start: point.time.seconds(),
                end,
                label: "<end>".to_owned(),
                used: None,
            });
        }
    }
    if rows.is_empty() {
        rows.push(SampleRow {
            experiment: 1,
            number: 1,
            start: 0.0,
            end: experiment.duration().seconds(),
            label: "whole run".to_owned(),
            used: None,
        });
    }
    rows
}

fn since(point: &SamplePoint, last: Option<&SamplePoint>) -> Used {
    let zero = SamplePoint {
        user: Default::default(),
        system: Default::default(),
        minor_faults: 0,
        major_faults: 0,
        ..*point
    };
    let last = last.unwrap_or(&zero);
    Used {
        user: point.user.since(last.user).seconds(),
        system: point.system.since(last.system).seconds(),
        minor_faults: point.minor_faults.saturating_sub(last.minor_faults),
        major_faults: point.major_faults.saturating_sub(last.major_faults),
    }
}

fn label(experiment: &Experiment, point: &SamplePoint) -> String {
    let name = experiment.tables.names.get(point.name.0);
    match (name.filter(|name| !name.is_empty()), point.kind) {
        (Some(name), _) => name.clone(),
        (None, PointKind::Call) => "<call>".to_owned(),
        (None, PointKind::Signal) => "<signal>".to_owned(),
        (None, PointKind::Period) => "<period>".to_owned(),
    }
}
