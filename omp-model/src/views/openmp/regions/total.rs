//! All regions of a run together.

use std::collections::BTreeSet;

use experiment::ids::ProcessId;
use experiment::tables::Tables;

use super::super::Measured;
use super::super::gain::Gain;
use super::super::locations::ConstructLocation;
use super::RegionRow;
use crate::views::TOTAL;

/// Wall seconds of all processes that have regions.
pub(super) fn wall(rows: &[RegionRow], tables: &Tables, measured: &Measured<'_>) -> f64 {
    let threads = rows.iter().flat_map(|row| &row.work);
    let threads = threads.filter_map(|(thread, _)| tables.threads.get(thread.index()));
    let processes: BTreeSet<ProcessId> = threads.map(|thread| thread.process).collect();
    measured.duration.seconds() * processes.len() as f64
}

/// The row of all regions; `None` without regions. Its elapsed time and its gain are those of the
/// outermost regions with the regions nested in them: teams that run at the same time within one
/// region take its wall time once.
pub fn total<'r>(rows: impl Iterator<Item = &'r RegionRow> + Clone) -> Option<RegionRow> {
    // A filter may have taken the regions around those that it left.
    let outermost = rows.clone().map(|row| row.nesting).min()?;
    let mut whole = Gain::default();
    for row in rows.clone().filter(|row| row.nesting == outermost) {
        whole.add(&row.whole, 1.0);
    }
    let total = rows.cloned().reduce(|mut total, row| {
        total.absorb(row);
        total
    })?;
    Some(RegionRow {
        name: TOTAL.to_owned(),
        location: ConstructLocation::default(),
        teams: false,
        nesting: 0,
        level: 0,
        contexts: Vec::new(),
        inclusive: total.exclusive.clone(),
        own: whole,
        whole,
        ..total
    })
}
