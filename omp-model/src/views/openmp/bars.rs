//! What a run's thread time went to, as stacked bars: of the run, and of its regions. The bars of regions,
//! serial code and threads in no team add up to the run's.

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
    /// Of a rank of an MPI program.
    Rank(RankUse),
}

/// What a rank's time goes to ([`crate::mpi::balance::Spent`]).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum RankUse {
    /// On a CPU outside of MPI, in no wait of OpenMP.
    Work,
    /// In functions of MPI that wait for other ranks.
    Waiting,
    /// In other functions of MPI.
    Mpi,
    /// Waits of OpenMP.
    OmpWait,
    /// Off the CPU outside of these.
    OffCpu,
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
            Use::Rank(RankUse::Work) => "rank_work",
            Use::Rank(RankUse::Waiting) => "rank_mpi_wait",
            Use::Rank(RankUse::Mpi) => "rank_mpi",
            Use::Rank(RankUse::OmpWait) => "rank_ompwait",
            Use::Rank(RankUse::OffCpu) => "rank_offcpu",
        }
    }

    /// It, in words.
    pub const fn words(self) -> &'static str {
        match self {
            Use::Work => "work in regions",
            Use::SerialWork => "serial work",
            Use::Lost(cause) => cause.words(),
            Use::NoTeam => "threads in no team",
            Use::Serial => "serial code, others idle",
            Use::SerialRuntime => "serial code in the runtime",
            Use::SerialOffCpu => "serial code off the CPU",
            Use::Rank(RankUse::Work) => "work",
            Use::Rank(RankUse::Waiting) => "calls of MPI that wait",
            Use::Rank(RankUse::Mpi) => "other calls of MPI",
            Use::Rank(RankUse::OmpWait) => "waits of OpenMP",
            Use::Rank(RankUse::OffCpu) => "off the CPU",
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
            Use::Lost(Cause::Mpi) => 'm',
            Use::Lost(Cause::OffCpu) => '-',
            Use::NoTeam => 'n',
            Use::Serial => '.',
            Use::SerialRuntime => 'V',
            Use::SerialOffCpu => '_',
            Use::Rank(RankUse::Work) => '#',
            Use::Rank(RankUse::Waiting) => 'm',
            Use::Rank(RankUse::Mpi) => 'M',
            Use::Rank(RankUse::OmpWait) => 'b',
            Use::Rank(RankUse::OffCpu) => '-',
        }
    }

    /// Its colour's family.
    pub const fn family(self) -> Family {
        match self {
            Use::Work | Use::Rank(RankUse::Work) => Family::Work,
            Use::SerialWork => Family::Serial,
            Use::Lost(Cause::Imbalance) | Use::Rank(RankUse::OmpWait) => Family::Barrier,
            Use::Lost(Cause::Lock | Cause::Ordered | Cause::Atomic) => Family::Exclusion,
            Use::Lost(Cause::Scheduling | Cause::Reduction) | Use::SerialRuntime => Family::Runtime,
            Use::Rank(RankUse::Mpi) => Family::Runtime,
            Use::Lost(Cause::Tasks) => Family::Task,
            Use::Lost(Cause::Mpi) | Use::Rank(RankUse::Waiting) => Family::Messages,
            Use::Lost(Cause::OffCpu) | Use::SerialOffCpu => Family::Unknown,
            Use::Rank(RankUse::OffCpu) => Family::Unknown,
            Use::NoTeam | Use::Serial => Family::Idle,
        }
    }

    /// Whether threads had work to do and no CPU.
    pub const fn is_off_cpu(self) -> bool {
        matches!(
            self,
            Use::Lost(Cause::OffCpu) | Use::SerialOffCpu | Use::Rank(RankUse::OffCpu)
        )
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

    /// The seconds of one use.
    pub fn of_use(&self, what: Use) -> f64 {
        sum(&self.parts, what)
    }

    /// The seconds of useful work, in regions and outside.
    pub fn useful(&self) -> f64 {
        self.of_use(Use::Work) + self.of_use(Use::SerialWork)
    }

    /// Each part with its key and words: useful work first, then every loss, largest first.
    pub fn useful_and_lost(&self) -> Vec<(&'static str, &'static str, f64)> {
        let causes = Cause::ALL.into_iter().map(Use::Lost);
        let lost = causes.chain([
            Use::NoTeam,
            Use::Serial,
            Use::SerialRuntime,
            Use::SerialOffCpu,
        ]);
        let mut parts: Vec<_> = lost
            .map(|what| (what.words(), what.id(), self.of_use(what)))
            .collect();
        parts.sort_by(|left, right| right.2.total_cmp(&left.2));
        parts.insert(0, ("useful work", "useful", self.useful()));
        parts
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
                .filter(|part| part.1 != 0.0)
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
            .filter(|part| part.1 != 0.0)
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
    // The sum of nothing would be -0.
    same.fold(0.0, |all, part| all + part.1)
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
    use crate::views::openmp::test_run::{close, rows, run, unbalanced};

    /// The bars of regions and serial code add up to the run's, and the parts of the wall time are all of it.
    #[test]
    fn the_bars_add_up_to_the_run() {
        let test = unbalanced();
        let (run, rows) = (run(&test), rows(&test));
        let bars = bars(&run, &rows);
        assert_eq!(bars[0].of, Of::Run);
        close(bars[0].seconds(), run.wall);
        // 100 ms of serial code and 700 ms of work on four threads.
        close(bars[0].useful(), 0.2);
        close(bars[0].of_use(Use::Serial), 0.075);
        close(bars[0].of_use(Use::Lost(Cause::Imbalance)), 0.225);
        for nothing in [Use::NoTeam, Use::SerialRuntime, Use::SerialOffCpu] {
            close(bars[0].of_use(nothing), 0.0);
        }
        let parts = bars[0].useful_and_lost();
        close(parts.iter().map(|part| part.2).sum(), run.wall);
        assert_eq!((parts[0].1, parts[1].1), ("useful", "imbalance"));
        for what in [Use::Work, Use::SerialWork, Use::Serial] {
            let others = bars[1..].iter().map(|bar| bar.of_use(what));
            close(others.sum(), bars[0].of_use(what));
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
