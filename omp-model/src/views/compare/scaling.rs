//! The loss of a program with a growing number of threads, N x T(N) - T(1), by function and by
//! region.
//!
//! The cost of code is the thread time that it occupies: inside regions, that of every thread,
//! waits included; in serial code, N times that of the initial thread, because its team is idle
//! meanwhile. Ideally the cost is the same on any number of threads; the excess is the loss.
//! `docs/metrics.md` has the definition.

use experiment::Packed;
use experiment::ids::ContextId;
use experiment::rows::RegionSum;
use experiment::tables::{ContextKind, Tables, ThreadKind};
use rustc_hash::FxHashMap;

use super::Shared;
use crate::metrics::Metric;
use crate::profile::{Item, Profile};
use crate::states::RefinedState;
use crate::views::functions::Sums;
use crate::views::openmp::regions::RegionRow;
use crate::views::{Seconds, TOTAL};

/// The parts of a cost, which add up to it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum CostPart {
    /// Inside regions: waiting, or switched out with work to do.
    Wait,
    /// Outside of regions: all threads, while one thread works.
    Serial,
    /// Inside regions: in the runtime.
    Overhead,
    /// Inside regions: useful work.
    Work,
}

impl CostPart {
    /// Every part, in the order of its number.
    pub const ALL: [CostPart; 4] = [
        CostPart::Wait,
        CostPart::Serial,
        CostPart::Overhead,
        CostPart::Work,
    ];

    /// The key in JSON.
    pub const fn id(self) -> &'static str {
        match self {
            CostPart::Wait => "wait",
            CostPart::Serial => "serial",
            CostPart::Overhead => "overhead",
            CostPart::Work => "work",
        }
    }
}

/// Seconds by [`CostPart`].
pub type Cost = [f64; CostPart::ALL.len()];

/// The cost of a function or region in each experiment; `None` if it never ran.
#[derive(Clone, Debug, PartialEq)]
pub struct ScalingRow {
    /// Its shared name.
    pub name: String,
    /// By experiment.
    pub costs: Vec<Option<Cost>>,
}

impl ScalingRow {
    /// The loss in an experiment relative to the first, by part.
    pub fn loss(&self, recording: usize) -> Cost {
        let cost = |at: usize| self.costs[at].unwrap_or_default();
        let mut loss = cost(recording);
        for (part, base) in loss.iter_mut().zip(cost(0)) {
            *part -= base;
        }
        loss
    }
}

/// The number of OpenMP threads: the size of the largest team; without a region, the number of
/// threads that a runtime registered.
pub fn threads(region_sums: &Packed<RegionSum>, tables: &Tables) -> u32 {
    let teams = region_sums.iter().map(|sum| u32::from(sum.team));
    teams.max().unwrap_or_else(|| {
        let known = tables.threads.iter();
        let known = known.filter(|thread| thread.kind.is_in_teams());
        known.count().max(1) as u32
    })
}

/// The inclusive cost of every function, `<Total>` first, then by the loss in the last experiment.
/// `threads` is the number of threads of each experiment.
pub fn functions(shared: &Shared<'_>, threads: &[u32]) -> Vec<ScalingRow> {
    let mut rows = Rows::new(shared.len());
    for (number, &threads) in threads.iter().enumerate() {
        let side = &shared.sides[number];
        let mut profile = Profile {
            mode: side.profile.mode,
            paths: side.profile.paths.clone(),
            items: Vec::new(),
        };
        for part in CostPart::ALL {
            let items = side.profile.items.iter();
            let items = items.filter_map(|item| cost_of(item, side.names.tables, threads));
            let items = items.filter(|(known, _)| *known == part);
            profile.items = items.map(|(_, item)| item).collect();
            let tree = shared.tree_of(side, &profile, &[Metric::Total]);
            rows.add(number, part, TOTAL, tree.total()[0]);
            for (&id, _, inclusive) in Sums::new(&tree).zip(&tree) {
                let seconds: &Seconds = &inclusive;
                if seconds[0] > 0.0 {
                    rows.add(number, part, shared.name(id), seconds[0]);
                }
            }
        }
    }
    rows.finish()
}

/// The cost of every region without nested regions, of serial code and of other threads,
/// which add up to `<Total>`. A nested
/// region has its own row, distinguished by its level of nesting.
pub fn regions(
    shared: &Shared<'_>,
    threads: &[u32],
    regions: &[Vec<RegionRow>],
) -> Vec<ScalingRow> {
    let mut rows = Rows::new(shared.len());
    for (number, (&threads, regions)) in threads.iter().zip(regions).enumerate() {
        let side = &shared.sides[number];
        for item in &side.profile.items {
            if let Some((part, item)) = cost_of(item, side.names.tables, threads) {
                rows.add(number, part, TOTAL, item.seconds);
                if part == CostPart::Serial {
                    rows.add(number, part, SERIAL, item.seconds);
                } else if !in_region(side.names.tables, item.context) {
                    rows.add(number, part, OTHERS, item.seconds);
                }
            }
        }
        for region in regions {
            let name = region_name(shared, number, region);
            let (work, overhead) = (
                region.time(Metric::OmpWork),
                region.time(Metric::State(RefinedState::Overhead)),
            );
            rows.add(number, CostPart::Wait, &name, region.time(Metric::OmpWait));
            rows.add(number, CostPart::Overhead, &name, overhead);
            rows.add(number, CostPart::Work, &name, work - overhead);
        }
    }
    rows.finish()
}

/// The row of code outside of regions.
const SERIAL: &str = "<Serial code>";
/// The row of threads that are in no team: of the program and of the runtime.
const OTHERS: &str = "<Other threads>";

/// The shared name of a region, with its level of nesting if that is not the first.
pub fn region_name(shared: &Shared<'_>, side: usize, region: &RegionRow) -> String {
    let name = shared.name_of(side, &region.name);
    match region.level {
        0 | 1 => name.to_owned(),
        level => format!("{name} (level {level})"),
    }
}

/// An item's part of the cost, and the item scaled to its cost; `None` for time that is charged to
/// other code, or that is not of the program's OpenMP threads.
fn cost_of(item: &Item, tables: &Tables, threads: u32) -> Option<(CostPart, Item)> {
    if item.state == RefinedState::Idle {
        // It is charged to serial code.
        return None;
    }
    let thread = tables.threads.get(item.thread.index());
    let initial = thread.is_some_and(|thread| thread.kind == ThreadKind::Initial);
    if initial && !in_region(tables, item.context) {
        let seconds = item.seconds * f64::from(threads);
        return Some((CostPart::Serial, Item { seconds, ..*item }));
    }
    let part = if Metric::OmpWait.counts(item) {
        CostPart::Wait
    } else if Metric::State(RefinedState::Overhead).counts(item) {
        CostPart::Overhead
    } else {
        CostPart::Work
    };
    Some((part, *item))
}

/// Whether a context lies in a region.
fn in_region(tables: &Tables, mut context: ContextId) -> bool {
    while let Some(row) = tables.contexts.get(context.0) {
        match row.kind {
            ContextKind::Root => return false,
            ContextKind::Region | ContextKind::Teams => return true,
            // A task outside of all regions has no region.
            ContextKind::Task | ContextKind::Taskloop => context = row.parent,
        }
    }
    false
}

struct Rows {
    recordings: usize,
    rows: Vec<ScalingRow>,
    by_name: FxHashMap<String, usize>,
}

impl Rows {
    fn new(recordings: usize) -> Rows {
        Rows {
            recordings,
            rows: Vec::new(),
            by_name: FxHashMap::default(),
        }
    }

    fn add(&mut self, recording: usize, part: CostPart, name: &str, seconds: f64) {
        let at = match self.by_name.get(name) {
            Some(&at) => at,
            None => {
                self.rows.push(ScalingRow {
                    name: name.to_owned(),
                    costs: vec![None; self.recordings],
                });
                self.by_name.insert(name.to_owned(), self.rows.len() - 1);
                self.rows.len() - 1
            }
        };
        let cost = self.rows[at].costs[recording].get_or_insert_with(Cost::default);
        cost[part as usize] += seconds;
    }

    fn finish(mut self) -> Vec<ScalingRow> {
        let last = self.recordings.saturating_sub(1);
        let loss = |row: &ScalingRow| row.loss(last).iter().sum::<f64>();
        self.rows.sort_by(|left, right| {
            let total = (right.name == TOTAL).cmp(&(left.name == TOTAL));
            let larger = || loss(right).total_cmp(&loss(left));
            total
                .then_with(larger)
                .then_with(|| left.name.cmp(&right.name))
        });
        self.rows
    }
}
