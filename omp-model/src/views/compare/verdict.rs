//! Whether a run took longer or shorter than another, whether that is more than chance, and where the time
//! went: the differences of the bars, which add up to the wall time.

use std::collections::BTreeMap;

use super::Shared;
use super::groups::{Groups, Term, chance, mean};
use super::overview::Side;
use crate::views::openmp::bars::{Of, Use};
use crate::views::openmp::first::First;

/// Runs of one program differ by up to this part of the longer one on shared machines: 20 pairs of one program on
/// a virtual machine differed by 1 to 31 %, 19 of them by less than this. It stands for what is not known of
/// chance where each side was recorded once.
pub const OF_ONE: f64 = 0.25;

/// From this part on, a difference of two single recordings is told, though it may be chance.
const SEEN: f64 = 0.05;

/// What is less than this part of a run is no change that a user wants to know of, however alike few
/// recordings were.
const LEAST: f64 = 0.01;

/// A difference that chance exceeds with this probability in one direction is told.
const LEVEL: f64 = 0.005;

/// The least part of the whole difference that is told of a place.
const WORTH_A_PLACE: f64 = 0.1;

/// How many places are told.
const PLACES: usize = 3;

/// How a side's time differs from the first side's.
#[derive(Clone, Debug, PartialEq)]
pub struct Verdict {
    /// The side, from 0.
    pub side: usize,
    /// Mean wall seconds of the first side.
    pub before: f64,
    /// Mean wall seconds of this side.
    pub after: f64,
    /// By how much they may differ by chance.
    pub chance: f64,
    /// Whether that was found from several recordings of a side.
    pub is_measured: bool,
    /// Where the difference is, largest first; nothing for several processes, or without OpenMP.
    pub places: Vec<Place>,
}

/// A part of a difference.
#[derive(Clone, Debug, PartialEq)]
pub struct Place {
    /// What the time goes to, and where: `imbalance in foo.c:9`.
    pub words: String,
    /// Wall seconds more than on the first side.
    pub seconds: f64,
}

impl Verdict {
    /// Wall seconds more than the first side's.
    pub fn change(&self) -> f64 {
        self.after - self.before
    }

    /// Whether the difference is more than chance.
    pub fn is_change(&self) -> bool {
        self.change().abs() > self.chance
    }

    /// The verdict, and where the difference is: a sentence each.
    pub fn sentences(&self) -> Vec<String> {
        let Verdict {
            before,
            after,
            chance,
            ..
        } = *self;
        let number = self.side + 1;
        let percent = if before > 0.0 {
            100.0 * self.change() / before
        } else {
            0.0
        };
        let is_seen = !self.is_measured && self.change().abs() > SEEN * before.min(after);
        let more = if after < before { "less" } else { "more" };
        let difference = format!(
            "it took {after:.3} s, {:.3} s {more} than {before:.3} s ({percent:+.1} %)",
            (before - after).abs()
        );
        let mut said = vec![match (self.is_change(), is_seen) {
            (true, _) if after < before => format!(
                "({number}) is {:.2} times as fast as (1): {difference}; up to {chance:.3} s may be chance",
                before / after
            ),
            (true, _) => format!(
                "({number}) takes {:.2} times as long as (1): {difference}; up to {chance:.3} s may be chance",
                after / before
            ),
            (false, true) => format!(
                "({number}) may differ from (1), or it is chance: {difference}; up to {chance:.3} s may be chance"
            ),
            (false, false) => format!(
                "No change beyond chance: ({number}) took {after:.3} s, (1) {before:.3} s \
                 ({percent:+.1} %); up to {chance:.3} s may be chance"
            ),
        }];
        if (self.is_change() || is_seen) && !self.places.is_empty() {
            let places = self.places.iter();
            let places = places.map(|it| format!("{} {:+.3} s", it.words, it.seconds));
            said.push(format!("Where: {}", places.collect::<Vec<_>>().join(", ")));
        }
        if !self.is_measured {
            said.push(format!(
                "Each side was recorded once: {:.0} % stand for what is not known of chance; several \
                 recordings tell: compare A1 A2 -- B1 B2",
                100.0 * OF_ONE
            ));
        }
        said
    }
}

/// A verdict on each side but the first.
pub fn verdicts(sides: &[Side<'_>], shared: &Shared<'_>, groups: &Groups) -> Vec<Verdict> {
    let wall = |side: &Side<'_>| side.first.map_or(side.duration, |first| first.run.wall);
    let walls = groups.split(sides.iter().map(wall));
    let ready = |side: &Side<'_>| side.first.map_or(0.0, |first| first.crowd.ready);
    let ready = groups.means(sides.iter().map(ready));
    let parts = sides.iter().enumerate();
    let parts = groups.split(parts.map(|(at, side)| side.first.map(|it| parts_of(it, shared, at))));
    let Some((first, others)) = walls.split_first() else {
        return Vec::new();
    };
    let verdict = |(side, runs): (usize, &Vec<f64>)| {
        let (before, after) = (mean(first), mean(runs));
        let terms = [
            Term {
                runs: first,
                times: -1.0,
            },
            Term { runs, times: 1.0 },
        ];
        let measured = chance(&terms, 0.0, LEVEL);
        // That threads wanted CPUs on one side and had them on the other is no change of the program.
        let of_one = || OF_ONE * before.max(after) + (ready[side] - ready[0]).abs();
        Verdict {
            side,
            before,
            after,
            chance: measured
                .unwrap_or_else(of_one)
                .max(LEAST * before.min(after)),
            is_measured: measured.is_some(),
            places: places(&parts[0], &parts[side], after - before),
        }
    };
    (1..).zip(others).map(verdict).collect()
}

/// Seconds by what they went to and where, under shared names.
type Parts = BTreeMap<(String, &'static str), (String, f64)>;

/// The parts of a run's wall time; nothing for several processes, which share none.
fn parts_of(first: &First, shared: &Shared<'_>, side: usize) -> Parts {
    let mut parts = Parts::new();
    if first.run.processes != 1 {
        return parts;
    }
    for bar in first.bars.iter().skip(1) {
        for &(what, seconds) in &bar.parts {
            let (place, words) = match &bar.of {
                Of::Region { name, location } => {
                    let words = format!("{} in {}", what.words(), location.short());
                    (shared.name_of(side, name).to_owned(), words)
                }
                _ => (String::new(), what.words().to_owned()),
            };
            // While one thread works outside of regions the others idle.
            let (key, words) = match what {
                Use::SerialWork | Use::Serial => ("serial", "serial code".to_owned()),
                what => (what.id(), words),
            };
            let words = if matches!(what, Use::Work) {
                words.replace("work in regions in", "work in")
            } else {
                words
            };
            parts.entry((place, key)).or_insert((words, 0.0)).1 += seconds;
        }
    }
    parts
}

/// The largest differences between the means of two sides' recordings.
fn places(before: &[Option<Parts>], after: &[Option<Parts>], change: f64) -> Vec<Place> {
    let known = before.iter().chain(after).all(Option::is_some);
    if !known {
        return Vec::new();
    }
    let mut differences: BTreeMap<&(String, &str), (String, f64)> = BTreeMap::new();
    for (sign, runs) in [(-1.0, before), (1.0, after)] {
        for (key, (words, seconds)) in runs.iter().flatten().flatten() {
            let difference = differences.entry(key).or_default();
            // The words of the later side: its lines are those that its user sees.
            difference.0.clone_from(words);
            difference.1 += sign * seconds / runs.len() as f64;
        }
    }
    let places = differences.into_values();
    let places = places.map(|(words, seconds)| Place { words, seconds });
    let mut places: Vec<Place> = places
        .filter(|it| it.seconds.abs() >= WORTH_A_PLACE * change.abs() && it.seconds != 0.0)
        .collect();
    places.sort_by(|left, right| right.seconds.abs().total_cmp(&left.seconds.abs()));
    places.truncate(PLACES);
    places
}

#[cfg(test)]
mod tests {
    use super::*;

    fn verdict(before: f64, after: f64, chance: f64) -> Verdict {
        Verdict {
            side: 1,
            before,
            after,
            chance,
            is_measured: true,
            places: vec![Place {
                words: "imbalance in foo.c:9".to_owned(),
                seconds: after - before,
            }],
        }
    }

    #[test]
    fn a_change_within_chance_is_none() {
        let same = verdict(2.0, 2.1, 0.2);
        assert!(!same.is_change());
        assert_eq!(
            same.sentences(),
            [
                "No change beyond chance: (2) took 2.100 s, (1) 2.000 s (+5.0 %); up to 0.200 s may be chance"
            ]
        );
    }

    #[test]
    fn a_change_is_told_with_its_place() {
        assert_eq!(
            verdict(2.0, 1.0, 0.2).sentences(),
            [
                "(2) is 2.00 times as fast as (1): it took 1.000 s, 1.000 s less than 2.000 s (-50.0 %); \
                 up to 0.200 s may be chance",
                "Where: imbalance in foo.c:9 -1.000 s"
            ]
        );
        let slower = verdict(2.0, 3.0, 0.2).sentences();
        assert!(
            slower[0].starts_with("(2) takes 1.50 times as long as (1): "),
            "{slower:?}"
        );
        let mut once = verdict(2.0, 3.0, 0.2);
        once.is_measured = false;
        assert!(once.sentences()[2].contains("recorded once: 25 %"));
        once.after = 2.15;
        let maybe = once.sentences();
        assert!(maybe[0].starts_with(
            "(2) may differ from (1), or it is chance: it took 2.150 s, 0.150 s more"
        ));
    }

    fn parts(parts: &[(&str, &'static str, f64)]) -> Option<Parts> {
        let entry = |&(place, what, seconds): &(&str, &'static str, f64)| {
            (
                (place.to_owned(), what),
                (format!("{what} in {place}"), seconds),
            )
        };
        Some(parts.iter().map(entry).collect())
    }

    /// Means of recordings differ; what one side lacks took no time there; small differences are left out.
    #[test]
    fn the_largest_differences_are_told_first() {
        let before = [
            parts(&[("a", "work", 1.0), ("a", "lock", 0.5), ("b", "work", 0.3)]),
            parts(&[("a", "work", 1.2), ("a", "lock", 0.5), ("b", "work", 0.3)]),
        ];
        let after = [parts(&[
            ("a", "work", 0.7),
            ("c", "work", 0.1),
            ("b", "work", 0.31),
        ])];
        let found = places(&before, &after, -0.79);
        let told: Vec<(&str, f64)> = found
            .iter()
            .map(|it| (it.words.as_str(), (it.seconds * 1e6).round() / 1e6))
            .collect();
        assert_eq!(
            told,
            [("lock in a", -0.5), ("work in a", -0.4), ("work in c", 0.1)]
        );
        assert_eq!(places(&before, &[None], -1.0), []);
    }
}
