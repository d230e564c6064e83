//! What a run's thread time went to, as stacked bars: of the run, and of its regions. The bars of regions,
//! serial code and threads in no team add up to the run's.

use super::budget::{NO_TEAM, SERIAL_OFF_CPU, SERIAL_OTHERS, SERIAL_RUNTIME};
use super::efficiency::{Run, rest};
use super::gain::Cause;
use super::locations::ConstructLocation;
use super::regions::RegionRow;
use crate::states::Family;

/// What thread time goes to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Use {
    /// Useful work in regions.
    Work,
    /// Useful work outside of regions.
    SerialWork,
    /// In a region's team, without useful work.
    Lost(Cause),
    /// In no team, while the process is in a region.
    NoTeam,
    /// The other threads, while one works outside of regions.
    Serial,
    /// All threads, while serial code is in the runtime.
    SerialRuntime,
    /// All threads, while serial code is off the CPU.
    SerialOffCpu,
}

impl Use {
    /// The key in JSON.
    pub const fn id(self) -> &'static str {
        match self {
            Use::Work => "work",
            Use::SerialWork => "serial_work",
            Use::Lost(cause) => cause.id(),
            Use::NoTeam => "no_team",
            Use::Serial => "serial",
            Use::SerialRuntime => "serial_runtime",
            Use::SerialOffCpu => "serial_offcpu",
        }
    }

    /// It, in words.
    pub const fn words(self) -> &'static str {
        match self {
            Use::Work => "work in regions",
            Use::SerialWork => "serial work",
            Use::Lost(cause) => cause.words(),
            Use::NoTeam => NO_TEAM,
            Use::Serial => SERIAL_OTHERS,
            Use::SerialRuntime => SERIAL_RUNTIME,
            Use::SerialOffCpu => SERIAL_OFF_CPU,
        }
    }

    /// Its letter, where there are no colours or one colour stands for several.
    pub const fn letter(self) -> char {
        match self {
            Use::Work => '#',
            Use::SerialWork => '=',
            Use::Lost(Cause::Imbalance) => 'b',
            Use::Lost(Cause::Lock) => 'l',
            Use::Lost(Cause::Ordered) => 'o',
            Use::Lost(Cause::Scheduling) => 'v',
            Use::Lost(Cause::Reduction) => 'r',
            Use::Lost(Cause::Atomic) => 'a',
            Use::Lost(Cause::Tasks) => 't',
            Use::Lost(Cause::OffCpu) => '-',
            Use::NoTeam => 'n',
            Use::Serial => '.',
            Use::SerialRuntime => 'V',
            Use::SerialOffCpu => '_',
        }
    }

    /// Its colour's family.
    pub const fn family(self) -> Family {
        match self {
            Use::Work => Family::Work,
            Use::SerialWork => Family::Serial,
            Use::Lost(Cause::Imbalance) => Family::Barrier,
            Use::Lost(Cause::Lock | Cause::Ordered | Cause::Atomic) => Family::Exclusion,
            Use::Lost(Cause::Scheduling | Cause::Reduction) | Use::SerialRuntime => Family::Runtime,
            Use::Lost(Cause::Tasks) => Family::Task,
            Use::Lost(Cause::OffCpu) | Use::SerialOffCpu => Family::Unknown,
            Use::NoTeam | Use::Serial => Family::Idle,
        }
    }

    /// Whether threads had work to do and no CPU.
    pub const fn is_off_cpu(self) -> bool {
        matches!(self, Use::Lost(Cause::OffCpu) | Use::SerialOffCpu)
    }
}

/// What a bar is about.
#[derive(Clone, Debug, PartialEq)]
pub enum Of {
    /// The whole run.
    Run,
    /// A region.
    Region {
        /// The name in the list of regions.
        name: String,
        /// Its directive.
        location: ConstructLocation,
    },
    /// So many regions that have no bar of their own.
    OtherRegions(usize),
    /// Serial code, with the threads that wait for its end.
    Serial,
    /// Threads in no team, while their process is in a region.
    NoTeam,
}

/// A bar.
#[derive(Clone, Debug, PartialEq)]
pub struct Bar {
    /// What it is about.
    pub of: Of,
    /// Seconds by use, in the order in which they stand; those without time are left out. They are thread
    /// seconds, divided by the number of threads if there is one process: then they add up to wall time.
    pub parts: Vec<(Use, f64)>,
}

impl Bar {
    /// Its length in seconds.
    pub fn seconds(&self) -> f64 {
        self.parts.iter().map(|part| part.1).sum()
    }
}

/// The run's bar, then those of the regions, most time first, of serial code, and of threads in no team:
/// those that have any time. Each stacks work first, then what is lost, in the order of the run's losses.
pub fn bars(run: &Run, regions: &[RegionRow]) -> Vec<Bar> {
    let spent = &run.spent;
    let of_region = |row: &RegionRow| {
        let work: f64 = row.work.iter().map(|(_, seconds)| seconds).sum();
        let lost = Cause::ALL.into_iter().zip(row.lost);
        let lost = lost.map(|(cause, seconds)| (Use::Lost(cause), seconds));
        std::iter::once((Use::Work, work)).chain(lost).collect()
    };
    let mut each: Vec<(Of, Vec<(Use, f64)>)> = regions
        .iter()
        .map(|row| {
            let of = Of::Region {
                name: row.name.clone(),
                location: row.location.clone(),
            };
            (of, of_region(row))
        })
        .collect();
    let length = |parts: &[(Use, f64)]| parts.iter().map(|part| part.1).sum::<f64>();
    each.sort_by(|left, right| length(&right.1).total_cmp(&length(&left.1)));
    let in_regions = each.iter().flat_map(|(_, parts)| parts);
    let in_regions = in_regions.filter(|part| part.0 == Use::Work);
    let in_regions: f64 = in_regions.map(|part| part.1).sum();
    each.push((
        Of::Serial,
        vec![
            (Use::SerialWork, rest(spent.useful - in_regions)),
            (Use::Serial, spent.serial),
            (Use::SerialRuntime, spent.serial_runtime),
            (Use::SerialOffCpu, spent.serial_off_cpu),
        ],
    ));
    each.push((Of::NoTeam, vec![(Use::NoTeam, spent.no_team)]));
    let whole: Vec<(Use, f64)> = each.iter().flat_map(|(_, parts)| parts.clone()).collect();
    let order = order(&whole);
    let scale = match run.processes {
        1 => 1.0 / run.threads as f64,
        _ => 1.0,
    };
    std::iter::once((Of::Run, whole))
        .chain(each)
        .map(|(of, parts)| Bar {
            of,
            parts: order
                .iter()
                .map(|&what| (what, scale * sum(&parts, what)))
                .filter(|part| part.1 > 0.0)
                .collect(),
        })
        .filter(|bar| !bar.parts.is_empty())
        .collect()
}

/// The same with one bar for all regions but the `most` with most time. A single one stays by itself.
pub fn folded(bars: &[Bar], most: usize) -> Vec<Bar> {
    let is_region = |bar: &&Bar| matches!(bar.of, Of::Region { .. });
    let regions = bars.iter().filter(is_region).count();
    if regions <= most + 1 {
        return bars.to_vec();
    }
    let others: Vec<&Bar> = bars.iter().filter(is_region).skip(most).collect();
    let parts: Vec<(Use, f64)> = others.iter().flat_map(|bar| bar.parts.clone()).collect();
    let order = bars[0].parts.iter().map(|part| part.0);
    let together = Bar {
        of: Of::OtherRegions(others.len()),
        parts: order
            .map(|what| (what, sum(&parts, what)))
            .filter(|part| part.1 > 0.0)
            .collect(),
    };
    let run = &bars[..1];
    let large = bars.iter().filter(is_region).take(most);
    let rest = bars.iter().skip(1).filter(|bar| !is_region(bar));
    run.iter()
        .chain(large)
        .chain([&together])
        .chain(rest)
        .cloned()
        .collect()
}

fn sum(parts: &[(Use, f64)], what: Use) -> f64 {
    let same = parts.iter().filter(|part| part.0 == what);
    same.map(|part| part.1).sum()
}

/// Every use: work, then what is lost, most first.
fn order(whole: &[(Use, f64)]) -> Vec<Use> {
    let mut lost: Vec<Use> = whole.iter().map(|part| part.0).collect();
    lost.sort();
    lost.dedup();
    lost.retain(|what| !matches!(what, Use::Work | Use::SerialWork));
    lost.sort_by(|left, right| sum(whole, *right).total_cmp(&sum(whole, *left)));
    [Use::Work, Use::SerialWork]
        .into_iter()
        .chain(lost)
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::views::openmp::budget::Budget;
    use crate::views::openmp::test_run::{close, rows, run, unbalanced};

    /// The bars of regions and serial code add up to the run's, whose parts are those of the budget.
    #[test]
    fn the_bars_add_up_to_the_run() {
        let test = unbalanced();
        let (run, rows) = (run(&test), rows(&test));
        let bars = bars(&run, &rows);
        assert_eq!(bars[0].of, Of::Run);
        close(bars[0].seconds(), run.wall);
        let budget = Budget::of(&run, &rows).unwrap();
        let of = |bar: &Bar, what| sum(&bar.parts, what);
        close(
            of(&bars[0], Use::Work) + of(&bars[0], Use::SerialWork),
            budget.useful,
        );
        for cause in Cause::ALL {
            let lost = of(&bars[0], Use::Lost(cause));
            close(lost, budget.causes[cause as usize]);
        }
        close(of(&bars[0], Use::Serial), budget.serial);
        for what in [Use::Work, Use::SerialWork, Use::Serial] {
            let others = bars[1..].iter().map(|bar| of(bar, what));
            close(others.sum(), of(&bars[0], what));
        }
        assert!(bars.iter().any(|bar| bar.of == Of::Serial));
    }

    /// Regions without a bar of their own have one together.
    #[test]
    fn other_regions_are_counted() {
        let test = unbalanced();
        let (run, rows) = (run(&test), rows(&test));
        let many: Vec<RegionRow> = std::iter::repeat_n(rows[0].clone(), 4).collect();
        let shown = folded(&bars(&run, &many), 2);
        let others = shown.iter().find(|bar| bar.of == Of::OtherRegions(2));
        let (first, others) = (&shown[1], others.unwrap());
        close(others.seconds(), 2.0 * first.seconds());
        close(
            shown[1..].iter().map(Bar::seconds).sum(),
            shown[0].seconds(),
        );
        // A single region takes no more room than "others".
        let all = bars(&run, &many[..3]);
        assert_eq!(folded(&all, 2), all);
    }
}
