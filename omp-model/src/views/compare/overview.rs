//! The overviews of several experiments, compared.

use super::Shared;
use super::groups::Groups;
use super::join::{Joined, Rank, Ranking, join, order};
use crate::metrics::{Flavour, Metric, Quantity, SortKey};
use crate::states::RefinedState;
use crate::views::openmp::bars::Bar;
use crate::views::openmp::efficiency::Efficiency;
use crate::views::openmp::first::First;
use crate::views::overview::{Overview, Rate, depth};
use crate::views::{ListRow, Request};

/// The number of losses shown.
const LOSSES: usize = 5;

/// The unit of a fact's values.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FactUnit {
    /// Seconds.
    Seconds,
    /// Percent.
    Percent,
    /// A count.
    Count,
    /// A number that its label explains.
    Ratio,
}

impl FactUnit {
    /// The number of decimals in text.
    pub const fn decimals(self) -> usize {
        match self {
            FactUnit::Seconds | FactUnit::Percent | FactUnit::Ratio => 3,
            FactUnit::Count => 0,
        }
    }

    /// The unit in JSON; a count has none.
    pub const fn word(self) -> &'static str {
        match self {
            FactUnit::Seconds => "s",
            FactUnit::Percent => "%",
            FactUnit::Count | FactUnit::Ratio => "",
        }
    }
}

/// A value for each experiment.
#[derive(Clone, Debug, PartialEq)]
pub struct Fact {
    /// The key in JSON.
    pub id: String,
    /// The label shown.
    pub label: String,
    /// Its indentation: a part of a fact above it is one level deeper.
    pub depth: usize,
    /// The unit of its values.
    pub unit: FactUnit,
    /// By experiment; `None` if it does not have the fact.
    pub values: Vec<Option<f64>>,
}

/// A group of facts.
#[derive(Clone, Debug, PartialEq)]
pub struct FactBlock {
    /// The key in JSON.
    pub id: &'static str,
    /// The heading.
    pub title: &'static str,
    /// The facts, in the order of the first experiment that has them.
    pub facts: Vec<Fact>,
}

/// The data of one experiment.
#[derive(Clone, Copy, Debug)]
pub struct Side<'a> {
    /// The program and its arguments.
    pub command: &'a [String],
    /// Duration in seconds.
    pub duration: f64,
    /// How its time was spent.
    pub overview: &'a Overview,
    /// How well its threads were used; `None` without OpenMP, or under a filter.
    pub first: Option<&'a First>,
}

impl Side<'_> {
    fn threads(&self) -> usize {
        self.overview.threads.iter().map(|(_, count)| count).sum()
    }

    /// CPU seconds of work, without the runtime's.
    fn work(&self) -> f64 {
        self.overview.time(Metric::OmpWork)
            - self.overview.time(Metric::State(RefinedState::Overhead))
    }
}

/// The share of its work from which more work on more threads is told.
const EXTRA_WORK: f64 = 0.1;

/// A sentence for each side that took more CPU time for its work than the first, by the same command on more
/// threads. Samples tell where, and nothing that is recorded tells why.
pub fn extra_work(sides: &[Side<'_>]) -> Vec<String> {
    let Some((first, others)) = sides.split_first() else {
        return Vec::new();
    };
    let others = (2..).zip(others);
    let others = others
        .filter(|(_, side)| side.command == first.command && side.threads() > first.threads());
    let sentence = |(number, side): (usize, &Side<'_>)| {
        let (before, after) = (first.work(), side.work());
        let more = after - before;
        (more > EXTRA_WORK * before && more >= 0.01).then(|| {
            format!(
                "extra work: the same command took {after:.3} s of CPU time for its work on {} threads \
                 ({number}), and {before:.3} s on {} (1); its cause is not recorded: it may be cache lines that threads \
                 share (false sharing), memory bandwidth, slower clocks, or work that each thread repeats; \
                 compare scaling tells where it is",
                side.threads(),
                first.threads()
            )
        })
    };
    others.filter_map(sentence).collect()
}

/// A fact of one experiment.
struct Entry {
    id: String,
    label: String,
    depth: usize,
    unit: FactUnit,
    value: f64,
}

impl Entry {
    fn new(id: impl Into<String>, label: impl Into<String>, unit: FactUnit, value: f64) -> Entry {
        Entry {
            id: id.into(),
            label: label.into(),
            depth: 0,
            unit,
            value,
        }
    }
}

/// The facts of several experiments; blocks without facts are left out.
pub fn blocks(sides: &[Side<'_>]) -> Vec<FactBlock> {
    type Entries = fn(&Side<'_>) -> Vec<Entry>;
    let all: [(&str, &str, Entries); 7] = [
        ("run", "The runs", run),
        ("wall_time", "What became of the wall time, seconds", wall),
        ("losses", "Wall time lost, seconds (- is below 1 %)", losses),
        ("times", "Time of all threads, seconds", times),
        ("counters", "Events of all threads", counters),
        ("rates", "Ratios of events", rates),
        (
            "efficiency",
            "Efficiency of the threads, percent",
            efficiencies,
        ),
    ];
    let block = |(id, title, entries): (&'static str, &'static str, Entries)| {
        let joined = join(sides.iter().map(entries).collect(), |entry| {
            entry.id.clone()
        });
        let mut facts: Vec<Fact> = joined.into_iter().filter_map(fact).collect();
        match id {
            "losses" => {
                let most = |fact: &Fact| fact.values.iter().flatten().copied().fold(0.0, f64::max);
                facts.sort_by(|left, right| most(right).total_cmp(&most(left)));
                facts.truncate(LOSSES);
            }
            // Leave out waits that no experiment has.
            "times" => facts.retain(|fact| {
                fact.depth == 0 || fact.values.iter().flatten().any(|value| *value > 0.0)
            }),
            // Leave out parts below half a millisecond in every experiment.
            "wall_time" => facts.retain(|fact| {
                let mut values = fact.values.iter().flatten();
                values.any(|value| *value >= 5e-4)
            }),
            _ => {}
        }
        (!facts.is_empty()).then_some(FactBlock { id, title, facts })
    };
    all.into_iter().filter_map(block).collect()
}

fn fact(joined: Joined<Entry>) -> Option<Fact> {
    let values = joined.rows.iter();
    let values = values.map(|entry| Some(entry.as_ref()?.value)).collect();
    // Each name belongs to at least one experiment.
    let entry = joined.rows.into_iter().flatten().next()?;
    Some(Fact {
        id: entry.id,
        label: entry.label,
        depth: entry.depth,
        unit: entry.unit,
        values,
    })
}

fn run(side: &Side<'_>) -> Vec<Entry> {
    let mut entries = vec![
        Entry::new(
            "duration",
            "Duration, seconds",
            FactUnit::Seconds,
            side.duration,
        ),
        Entry::new("threads", "Threads", FactUnit::Count, side.threads() as f64),
        Entry::new(
            "processes",
            "Processes",
            FactUnit::Count,
            side.overview.processes as f64,
        ),
    ];
    if let Some(first) = side.first {
        entries.extend([
            Entry::new("cpus", "CPUs", FactUnit::Count, f64::from(first.cpus)),
            Entry::new(
                "ready",
                "Ready to run without a CPU, thread seconds",
                FactUnit::Seconds,
                first.crowd.ready,
            ),
        ]);
    }
    entries
}

fn wall(side: &Side<'_>) -> Vec<Entry> {
    let bar = side.first.and_then(First::wall_time);
    let parts = bar.map_or_else(Vec::new, Bar::useful_and_lost);
    let entry = |(words, id, seconds)| Entry::new(id, words, FactUnit::Seconds, seconds);
    parts.into_iter().map(entry).collect()
}

fn losses(side: &Side<'_>) -> Vec<Entry> {
    let losses = side.first.map_or(&[][..], |first| &first.losses);
    losses
        .iter()
        .map(|loss| {
            let label = format!("{} lost to {}", loss.location.short(), loss.reason.words());
            Entry::new(label.clone(), label, FactUnit::Seconds, loss.seconds)
        })
        .collect()
}

fn times(side: &Side<'_>) -> Vec<Entry> {
    let times = side.overview.times.iter();
    times
        // Blame counts the time of other threads again.
        .filter(|(metric, _)| *metric != Metric::Blame)
        .map(|&(metric, seconds)| Entry {
            depth: depth(metric),
            ..Entry::new(
                Quantity::Time(Flavour::Exclusive, metric).id(),
                metric.words(),
                FactUnit::Seconds,
                seconds,
            )
        })
        .collect()
}

fn counters(side: &Side<'_>) -> Vec<Entry> {
    let entry = |&(metric, events): &(Metric, f64)| {
        let unit = if metric.is_time() {
            FactUnit::Seconds
        } else {
            FactUnit::Count
        };
        let id = Quantity::Time(Flavour::Exclusive, metric).id();
        Entry::new(id, metric.words(), unit, events)
    };
    side.overview.counters.iter().map(entry).collect()
}

fn rates(side: &Side<'_>) -> Vec<Entry> {
    let entry = |(rate, value): (&Rate, f64)| {
        let label = match rate.unit {
            "" => rate.words.to_owned(),
            unit => format!("{}, {unit}", rate.words),
        };
        Entry::new(rate.id, label, FactUnit::Ratio, value)
    };
    side.overview.rates().into_iter().map(entry).collect()
}

fn efficiencies(side: &Side<'_>) -> Vec<Entry> {
    fn walk(node: &Efficiency, depth: usize, entries: &mut Vec<Entry>) {
        entries.push(Entry {
            depth,
            ..Entry::new(node.id, node.label, FactUnit::Percent, 100.0 * node.value())
        });
        for child in &node.children {
            walk(child, depth + 1, entries);
        }
    }
    let mut entries = Vec::new();
    if let Some(first) = side.first {
        walk(&first.run.efficiency, 0, &mut entries);
    }
    entries
}

/// The functions with most thread time on any side, by shared names. The only value in
/// [`ListRow::exclusive`] is thread time.
pub fn largest(shared: &Shared<'_>, groups: &Groups, count: usize) -> Vec<Joined<ListRow>> {
    let sort = SortKey {
        quantity: Quantity::Time(Flavour::Exclusive, Metric::Total),
        reversed: false,
    };
    let request = Request {
        metrics: vec![Metric::Total],
        sort,
    };
    let sides = (0..shared.len()).map(|side| shared.functions(side, &request).rows);
    let mut rows = join(sides.collect(), |row: &ListRow| row.name.clone());
    let total = |row: &ListRow| row.exclusive[0];
    let ranking = Ranking {
        rank: Rank::Largest,
        groups,
    };
    rows.sort_by(|left, right| order(sort, ranking, total, left, right));
    rows.truncate(count);
    rows
}
