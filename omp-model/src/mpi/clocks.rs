//! How far the clocks of hosts are apart, by what their ranks did for each other.
//!
//! A message cannot have been received before it was sent, nor can a rank have left a barrier before another came. Each
//! of these bounds the difference of two clocks from one side. Nothing of ours is sent for it, so that nothing of ours
//! delays the program or can be delayed by one-sided paths: the truth is always within the bounds.
//!
//! The difference changes at a rate that the whole run tells, and wanders little about it: so a bound is carried from one
//! moment to others. A host is compared with the first one that it is connected to, over other hosts if need be, whose errors
//! add up. Hosts that nothing connects, such as those of two jobs, are not compared.

use std::collections::{BTreeMap, VecDeque};

use super::calls::calls;
use super::collectives::{Pattern, collected, is_synchronous};
use super::matching::matched;
use super::ranks::{RankId, Ranks, Recording};
use experiment::Experiment;

/// How much two clocks may drift apart: each is off by at most a hundred parts of a million. Nobody adjusts
/// CLOCK_MONOTONIC_RAW.
const ANY: Rate = Rate {
    billionths: 0,
    wander: 200_000,
};

/// How much the rate may differ from that of the whole run, in billionths: warming up changes it by some 500.
const WANDER: u64 = 5_000;

/// How the difference of two clocks changes, in nanoseconds a second.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Rate {
    billionths: i64,
    /// By how much more or less.
    wander: u64,
}

impl Rate {
    /// The change over so many nanoseconds, and by how much it may be more or less.
    fn over(self, nanos: i64) -> (i64, i64) {
        let parts = |billionths: i64| {
            let change = i128::from(nanos) * i128::from(billionths) / 1_000_000_000;
            change as i64
        };
        (
            parts(self.billionths),
            parts(self.wander as i64).saturating_abs(),
        )
    }
}

/// How many nanoseconds the times of two recordings of one host may be apart: each ties its clocks together by itself.
pub(super) const SLACK: u64 = 20_000;

/// Into how many stretches a run is divided. Of each the tightest bounds are kept.
const STRETCHES: u64 = 1 << 14;

/// The clocks of several recordings, as far as they can be compared.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Clocks {
    /// The number of the clock of each recording.
    of: Vec<usize>,
    clocks: Vec<Clock>,
}

/// A clock that several recordings may share.
#[derive(Clone, Debug, Default, PartialEq)]
struct Clock {
    /// The number of the first clock that it is connected to; its own if it is the first of those.
    first: usize,
    /// Bounds against that one at some moments, in order; none if it is the first.
    knots: Vec<Knot>,
    /// How they change between.
    rate: Rate,
}

/// Bounds of the nanoseconds that the first clock is ahead, at a moment of the other.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Knot {
    at: u64,
    low: i64,
    high: i64,
}

/// A moment on the first clock, in nanoseconds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Moment {
    /// The middle of what it may be.
    pub time: u64,
    /// By how much it may be earlier or later.
    pub error: u64,
}

/// How far a clock is apart from the first one that it is connected to.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Difference {
    /// A recording that has that one.
    pub first: usize,
    /// By how many seconds it is ahead, in the middle of the run.
    pub ahead: f64,
    /// By how much that may be more or less at any moment of the messages, in seconds.
    pub error: f64,
    /// By how much it runs faster, in parts of a million.
    pub millionths: f64,
}

impl Clocks {
    /// Those of recordings, none compared with another.
    pub fn apart(recordings: &[Recording]) -> Clocks {
        let mut names = BTreeMap::<(&str, &str), usize>::new();
        let name = |it: &Recording| match it.clock.as_str() {
            "" => (it.host.clone(), String::new()),
            clock => (String::new(), clock.to_owned()),
        };
        let all: Vec<(String, String)> = recordings.iter().map(name).collect();
        let of = all.iter().map(|(host, clock)| {
            let next = names.len();
            *names.entry((host, clock)).or_insert(next)
        });
        let of: Vec<usize> = of.collect();
        Clocks {
            clocks: (0..names.len()).map(Clock::first).collect(),
            of,
        }
    }

    /// Whether there is only one.
    pub fn is_one(&self) -> bool {
        self.clocks.len() <= 1
    }

    /// Those of recordings, by what their ranks did for each other; `apart` has their own clocks.
    pub fn compared(experiment: &Experiment, apart: &Ranks<'_>) -> Clocks {
        let mut clocks = apart.clocks.clone().into_owned();
        if clocks.is_one() {
            return clocks;
        }
        let mut between = Between::of(apart);
        let of = |rank: RankId| apart.recording_number(rank).map(|at| clocks.of[at]);
        matched(experiment.mpi_messages.iter(), apart, |pair| {
            let [from, to] = [pair.channel.from, pair.channel.to].map(of);
            if let (Some(from), Some(to), Some(done)) = (from, to, pair.received.completed) {
                between.earlier((from, pair.sent.posted), (to, done));
            }
        });
        let calls = calls(&experiment.mpi_calls, apart);
        collected(&calls, apart, |pattern, together| {
            if !is_synchronous(calls[together[0]].function) {
                return;
            }
            let rank = |at: usize| apart.of_thread(calls[at].thread);
            let is_root = |at: usize| calls[at].root == rank(at).number + 1;
            // By clock: when its last rank came, when its first one left.
            let mut hosts = BTreeMap::<usize, (u64, u64)>::new();
            for &at in together {
                let Some(clock) = of(rank(at)) else { continue };
                let (start, end) = (calls[at].start, calls[at].end);
                let (came, left) = match (pattern, is_root(at)) {
                    (Pattern::All, _) => (start, end),
                    (Pattern::FromRoot, true) | (Pattern::ToRoot, false) => (start, u64::MAX),
                    (Pattern::FromRoot, false) | (Pattern::ToRoot, true) => (0, end),
                };
                let host = hosts.entry(clock).or_insert((0, u64::MAX));
                *host = (host.0.max(came), host.1.min(left));
            }
            // Against one of them: all pairs would be many, and tell little more.
            let center = match pattern {
                Pattern::All => hosts.keys().next().copied(),
                _ => together
                    .iter()
                    .find(|&&at| is_root(at))
                    .and_then(|&at| of(rank(at))),
            };
            let Some(center) = center else { return };
            let (came, left) = hosts[&center];
            for (&clock, &host) in hosts.iter().filter(|(clock, _)| **clock != center) {
                between.earlier((center, came), (clock, host.1));
                between.earlier((clock, host.0), (center, left));
            }
        });
        between.settle(&mut clocks.clocks);
        clocks
    }

    /// A moment of a recording's clock, on the first clock that it is connected to.
    pub fn on_first(&self, recording: usize, time: u64) -> Moment {
        let clock = self.of.get(recording).map(|at| &self.clocks[*at]);
        clock.map_or(Moment { time, error: 0 }, |it| it.on_first(time))
    }

    /// How far each clock but the very first is apart from the first that it is connected to, by a recording that has it;
    /// `None` if it is connected to none before it.
    pub fn differences(&self) -> impl Iterator<Item = (usize, Option<Difference>)> + '_ {
        let others = self.clocks.iter().enumerate().skip(1);
        others.filter_map(|(number, clock)| {
            let recording = self.of.iter().position(|it| *it == number)?;
            let first = self.of.iter().position(|it| *it == clock.first)?;
            Some((recording, clock.difference(first)))
        })
    }

    /// The error of a recording's times near a moment of the first clock.
    pub fn error_near(&self, recording: usize, moment: u64) -> u64 {
        let clock = self.of.get(recording).map(|at| &self.clocks[*at]);
        let knots = clock.map_or(&[][..], |it| &it.knots);
        let on_first = |knot: &Knot| knot.at.saturating_add_signed(knot.middle());
        let after = knots.partition_point(|knot| on_first(knot) < moment);
        let near = knots.get(after).or(knots.last());
        // The moment on its own clock, as the nearest knot has it.
        let own = near.map(|knot| moment.saturating_add_signed(knot.middle().saturating_neg()));
        own.map_or(0, |own| self.on_first(recording, own).error)
    }

    /// Whether moments of two recordings can be compared.
    pub fn are_comparable(&self, one: usize, other: usize) -> bool {
        let first = |at: usize| Some(self.clocks[*self.of.get(at)?].first);
        first(one).is_some() && first(one) == first(other)
    }

    /// Whether two recordings have the same clock.
    pub fn is_shared(&self, one: usize, other: usize) -> bool {
        self.of.get(one).is_some() && self.of.get(one) == self.of.get(other)
    }
}

impl Clock {
    /// One that is connected to none before it.
    const fn first(number: usize) -> Clock {
        Clock {
            first: number,
            knots: Vec::new(),
            rate: Rate {
                billionths: 0,
                wander: 0,
            },
        }
    }

    fn difference(&self, first: usize) -> Option<Difference> {
        let middle = self.knots.get(self.knots.len() / 2)?;
        let errors = self.knots.iter().map(Knot::error);
        Some(Difference {
            first,
            ahead: -middle.middle() as f64 / 1e9,
            error: errors.max()? as f64 / 1e9,
            millionths: -self.rate.billionths as f64 / 1e3,
        })
    }

    fn on_first(&self, time: u64) -> Moment {
        let after = self.knots.partition_point(|knot| knot.at < time);
        let near = self.knots.iter().skip(after.saturating_sub(1)).take(2);
        let bounds = near.map(|knot| knot.carried(time, self.rate));
        let both = bounds.reduce(|one, other| Knot {
            at: time,
            low: one.low.max(other.low),
            high: one.high.min(other.high),
        });
        both.map_or(Moment { time, error: 0 }, |knot| Moment {
            time: time.saturating_add_signed(knot.middle()),
            error: knot.error(),
        })
    }
}

impl Knot {
    fn middle(&self) -> i64 {
        self.low.midpoint(self.high)
    }

    fn error(&self) -> u64 {
        self.low.abs_diff(self.high).div_ceil(2)
    }

    /// Its bounds at another moment.
    fn carried(&self, time: u64, rate: Rate) -> Knot {
        let (change, wander) = rate.over(time.wrapping_sub(self.at) as i64);
        Knot {
            at: time,
            low: self.low.saturating_add(change).saturating_sub(wander),
            high: self.high.saturating_add(change).saturating_add(wander),
        }
    }

    /// The same where the bounds contradict each other by no more than times of recordings may be off, which is then the error.
    fn settled(self) -> Knot {
        if self.low <= self.high {
            return self;
        }
        let middle = self.middle();
        Knot {
            at: self.at,
            low: middle.saturating_sub(SLACK as i64),
            high: middle.saturating_add(SLACK as i64),
        }
    }
}

/// What is known of pairs of clocks.
struct Between {
    /// The length of a stretch, in nanoseconds.
    stretch: u64,
    /// By two clocks, the lower number first: bounds of the nanoseconds that the first is ahead of the second, by the
    /// stretch of the second's time.
    pairs: BTreeMap<(usize, usize), BTreeMap<u64, (i64, i64)>>,
}

/// Without a bound.
const OPEN: (i64, i64) = (i64::MIN, i64::MAX);

impl Between {
    fn of(ranks: &Ranks<'_>) -> Between {
        let durations = ranks.all().filter_map(|(_, it)| it.map(|it| it.duration.0));
        let longest = durations.max().unwrap_or(0);
        Between {
            stretch: (longest / STRETCHES).max(1),
            pairs: BTreeMap::new(),
        }
    }

    /// Something happened on one clock before something else on another, or at the same moment. Open ends tell nothing.
    fn earlier(&mut self, before: (usize, u64), after: (usize, u64)) {
        if before.0 == after.0 || before.1 == 0 || after.1 == u64::MAX {
            return;
        }
        let difference = |one: u64, other: u64| one.wrapping_sub(other) as i64;
        let (pair, at) = if before.0 < after.0 {
            ((before.0, after.0), after.1)
        } else {
            ((after.0, before.0), before.1)
        };
        let stretch = at / self.stretch;
        let middle = stretch * self.stretch + self.stretch / 2;
        let (_, moved) = ANY.over(at.abs_diff(middle) as i64);
        let bounds = self.pairs.entry(pair).or_default();
        let bounds = bounds.entry(stretch).or_insert(OPEN);
        if before.0 < after.0 {
            // The first clock is at least so much ahead.
            let least = difference(before.1, after.1).saturating_sub(moved);
            bounds.0 = bounds.0.max(least);
        } else {
            let most = difference(after.1, before.1).saturating_add(moved);
            bounds.1 = bounds.1.min(most);
        }
    }

    /// Connects clocks to the first that there is a way to, over as few others as possible.
    fn settle(&self, clocks: &mut [Clock]) {
        let pairs = self.pairs.iter();
        let tight: BTreeMap<(usize, usize), (Vec<Knot>, Rate)> = pairs
            .filter_map(|(pair, bounds)| Some((*pair, self.knots(bounds)?)))
            .collect();
        let mut is_connected = vec![false; clocks.len()];
        for first in 0..clocks.len() {
            let mut next = VecDeque::from([first]);
            while let Some(parent) = next.pop_front() {
                is_connected[parent] = true;
                for at in first + 1..clocks.len() {
                    let pair = (parent.min(at), parent.max(at));
                    if let Some((knots, rate)) = tight.get(&pair)
                        && !std::mem::replace(&mut is_connected[at], true)
                    {
                        clocks[at] = tied(&clocks[parent], (knots, *rate), parent < at);
                        next.push_back(at);
                    }
                }
            }
        }
    }

    /// The bounds of a pair at each of its stretches, each the tightest that any allows, and how they change; `None` if one
    /// side is open, or they contradict each other.
    fn knots(&self, bounds: &BTreeMap<u64, (i64, i64)>) -> Option<(Vec<Knot>, Rate)> {
        let knots = bounds.iter().map(|(stretch, &(low, high))| Knot {
            at: stretch * self.stretch + self.stretch / 2,
            low,
            high,
        });
        let knots: Vec<Knot> = knots.collect();
        let coarse = tightened(knots.clone(), ANY)?;
        let rate = mean_rate(&coarse);
        let fine = tightened(knots, rate)?;
        Some((fine, rate))
    }
}

/// The rate at which a difference changed over all knots.
fn mean_rate(knots: &[Knot]) -> Rate {
    let (Some(first), Some(last)) = (knots.first(), knots.last()) else {
        return ANY;
    };
    let time = i128::from(last.at.abs_diff(first.at).max(1));
    let billionths = |change: i64| (i128::from(change) * 1_000_000_000 / time) as i64;
    let least = billionths(last.low.saturating_sub(first.high));
    let most = billionths(last.high.saturating_sub(first.low));
    let wander = (least.abs_diff(most) / 2).saturating_add(WANDER);
    if wander > ANY.wander {
        return ANY;
    }
    Rate {
        billionths: least.midpoint(most),
        wander,
    }
}

/// Knots of which each has the tightest bounds that all together allow; `None` if a side is open, or they contradict each
/// other.
fn tightened(mut knots: Vec<Knot>, rate: Rate) -> Option<Vec<Knot>> {
    let tighten = |knot: &mut Knot, near: Knot| {
        let near = near.carried(knot.at, rate);
        knot.low = knot.low.max(near.low);
        knot.high = knot.high.min(near.high);
    };
    for at in 1..knots.len() {
        let near = knots[at - 1];
        tighten(&mut knots[at], near);
    }
    for at in (1..knots.len()).rev() {
        let near = knots[at];
        tighten(&mut knots[at - 1], near);
    }
    let is_sound = |knot: &Knot| {
        // An open side is carried on, too.
        let is_open = knot.low < i64::MIN / 2 || knot.high > i64::MAX / 2;
        !is_open && knot.low.saturating_sub(knot.high) <= 2 * SLACK as i64
    };
    let is_sound = knots.iter().all(is_sound);
    is_sound.then(|| knots.into_iter().map(Knot::settled).collect())
}

/// A clock by its bounds to another one, `parent`. `ahead` tells whether the bounds are those by which the parent is ahead of it,
/// at moments of its own.
fn tied(parent: &Clock, (knots, rate): (&[Knot], Rate), ahead: bool) -> Clock {
    let knots = knots.iter().map(|knot| {
        let there = knot.at.saturating_add_signed(knot.middle());
        let (at, on_parent, low, high) = if ahead {
            (knot.at, there, knot.low, knot.high)
        } else {
            let (low, high) = (knot.high.saturating_neg(), knot.low.saturating_neg());
            (there, knot.at, low, high)
        };
        let moment = parent.on_first(on_parent);
        let offset = moment.time.wrapping_sub(on_parent) as i64;
        let error = moment.error as i64;
        Knot {
            at,
            low: offset.saturating_add(low).saturating_sub(error),
            high: offset.saturating_add(high).saturating_add(error),
        }
    });
    let sign = if ahead { 1 } else { -1 };
    Clock {
        first: parent.first,
        knots: knots.collect(),
        rate: Rate {
            billionths: parent.rate.billionths + sign * rate.billionths,
            wander: parent.rate.wander + rate.wander,
        },
    }
}

#[cfg(test)]
mod tests;
