//! How far the clocks of hosts are apart, by what their ranks did for each other.
//!
//! A message cannot have been received before it was sent, nor can a rank have left a barrier before another came. Each
//! of these bounds the difference of two clocks from one side. Nothing of ours is sent for it, so that nothing of ours
//! delays the program or can be delayed by one-sided paths: the truth is always within the bounds.
//!
//! The difference changes at a rate that the whole run tells, and wanders little about it: so a bound is carried from one
//! moment to others. Hosts that do not talk to the first one are reached through others, whose errors add up.

use std::collections::{BTreeMap, VecDeque};

use super::calls::calls;
use super::collectives::{Pattern, collected};
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
    /// How it is known against the first one.
    known: Known,
}

#[derive(Clone, Debug, Default, PartialEq)]
enum Known {
    /// It is the first.
    #[default]
    First,
    /// By bounds at some moments, in order, and how they change between.
    Bounded { knots: Vec<Knot>, rate: Rate },
    /// Nothing ties it to the first.
    Not,
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

/// How far a clock is apart from the first one.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Difference {
    /// By how many seconds it is ahead, in the middle of the run.
    pub ahead: f64,
    /// By how much that may be more or less at any moment of the messages, in seconds.
    pub error: f64,
    /// By how much it runs faster, in parts of a million.
    pub millionths: f64,
}

impl Clocks {
    /// Those of recordings, each known to itself alone.
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
        let clock = |at| Clock {
            known: if at == 0 { Known::First } else { Known::Not },
        };
        Clocks {
            clocks: (0..names.len()).map(clock).collect(),
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

    /// A moment of a recording's clock on the first one; `None` if they cannot be compared.
    pub fn on_first(&self, recording: usize, time: u64) -> Option<Moment> {
        let clock = self.clocks.get(*self.of.get(recording)?)?;
        clock.on_first(time)
    }

    /// How far each clock but the first is apart from it, by the first recording that has it; `None` if that is not known.
    pub fn differences(&self) -> impl Iterator<Item = (usize, Option<Difference>)> + '_ {
        let others = self.clocks.iter().enumerate().skip(1);
        others.filter_map(|(number, clock)| {
            let recording = self.of.iter().position(|it| *it == number)?;
            Some((recording, clock.difference()))
        })
    }

    /// The error of a recording's times near a moment of the first clock.
    pub fn error_near(&self, recording: usize, moment: u64) -> u64 {
        let clock = self.of.get(recording).map(|at| &self.clocks[*at]);
        let Some(Known::Bounded { knots, rate }) = clock.map(|it| &it.known) else {
            return 0;
        };
        // That at the knots' time which is nearest on its own clock.
        let on_first = |knot: &Knot| knot.at.saturating_add_signed(knot.low.midpoint(knot.high));
        let after = knots.partition_point(|knot| on_first(knot) < moment);
        let Some(knot) = knots.get(after.min(knots.len().saturating_sub(1))) else {
            return 0;
        };
        let own = moment.saturating_add_signed(knot.low.midpoint(knot.high).saturating_neg());
        let (low, high) = knot.carried(own, *rate);
        low.abs_diff(high).div_ceil(2)
    }

    /// Whether moments of two recordings can be compared.
    pub fn are_comparable(&self, one: usize, other: usize) -> bool {
        let Some([one, other]) = self
            .of
            .get(one)
            .zip(self.of.get(other))
            .map(|(a, b)| [*a, *b])
        else {
            return false;
        };
        one == other
            || [one, other]
                .iter()
                .all(|&at| self.clocks[at].known != Known::Not)
    }

    /// Whether two recordings have the same clock.
    pub fn is_shared(&self, one: usize, other: usize) -> bool {
        self.of.get(one).is_some() && self.of.get(one) == self.of.get(other)
    }
}

impl Clock {
    fn difference(&self) -> Option<Difference> {
        let Known::Bounded { knots, rate } = &self.known else {
            return None;
        };
        let middle = knots.get(knots.len() / 2)?;
        let errors = knots.iter().map(|it| it.low.abs_diff(it.high).div_ceil(2));
        Some(Difference {
            ahead: -middle.low.midpoint(middle.high) as f64 / 1e9,
            error: errors.max()? as f64 / 1e9,
            millionths: -rate.billionths as f64 / 1e3,
        })
    }

    fn on_first(&self, time: u64) -> Option<Moment> {
        match &self.known {
            Known::First => Some(Moment { time, error: 0 }),
            Known::Not => None,
            Known::Bounded { knots, rate } => {
                let after = knots.partition_point(|knot| knot.at < time);
                let near = knots.get(after.saturating_sub(1)..)?.iter().take(2);
                let bounds = near.map(|knot| knot.carried(time, *rate));
                let (low, high) =
                    bounds.reduce(|one, other| (one.0.max(other.0), one.1.min(other.1)))?;
                Some(Moment {
                    time: time.saturating_add_signed(low.midpoint(high)),
                    error: low.abs_diff(high).div_ceil(2),
                })
            }
        }
    }
}

impl Knot {
    /// Its bounds at another moment.
    fn carried(&self, time: u64, rate: Rate) -> (i64, i64) {
        let (change, wander) = rate.over(time.wrapping_sub(self.at) as i64);
        (
            self.low.saturating_add(change).saturating_sub(wander),
            self.high.saturating_add(change).saturating_add(wander),
        )
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

    /// Ties each clock to the first, over as few others as possible.
    fn settle(&self, clocks: &mut [Clock]) {
        let pairs = self.pairs.iter();
        let tight: BTreeMap<(usize, usize), (Vec<Knot>, Rate)> = pairs
            .filter_map(|(pair, bounds)| Some((*pair, self.knots(bounds)?)))
            .collect();
        let mut next = VecDeque::from([0]);
        while let Some(parent) = next.pop_front() {
            for at in 1..clocks.len() {
                let pair = (parent.min(at), parent.max(at));
                let is_open = clocks[at].known == Known::Not;
                let Some((knots, rate)) = tight.get(&pair).filter(|_| is_open) else {
                    continue;
                };
                if let Some(known) = tied(&clocks[parent], (knots, *rate), parent < at) {
                    clocks[at].known = known;
                    next.push_back(at);
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
        let (low, high) = near.carried(knot.at, rate);
        knot.low = knot.low.max(low);
        knot.high = knot.high.min(high);
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
    knots.iter().all(is_sound).then_some(knots)
}

/// A clock by its bounds to another one, `parent`, which is known. `ahead` tells whether the bounds are those by which
/// the parent is ahead of it, at moments of its own.
fn tied(parent: &Clock, (knots, rate): (&[Knot], Rate), ahead: bool) -> Option<Known> {
    let above = match &parent.known {
        Known::First => Rate::default(),
        Known::Bounded { rate, .. } => *rate,
        Known::Not => return None,
    };
    let knots = knots.iter().map(|knot| {
        let middle = knot.low.midpoint(knot.high);
        let (at, on_parent, low, high) = if ahead {
            (
                knot.at,
                knot.at.saturating_add_signed(middle),
                knot.low,
                knot.high,
            )
        } else {
            let at = knot.at.saturating_add_signed(middle);
            (
                at,
                knot.at,
                knot.high.saturating_neg(),
                knot.low.saturating_neg(),
            )
        };
        let moment = parent.on_first(on_parent)?;
        let offset = moment.time.wrapping_sub(on_parent) as i64;
        let error = moment.error as i64;
        Some(Knot {
            at,
            low: offset.saturating_add(low).saturating_sub(error),
            high: offset.saturating_add(high).saturating_add(error),
        })
    });
    let knots: Vec<Knot> = knots.collect::<Option<_>>()?;
    let sign = if ahead { 1 } else { -1 };
    let rate = Rate {
        billionths: above.billionths + sign * rate.billionths,
        wander: above.wander + rate.wander,
    };
    Some(Known::Bounded { knots, rate })
}

#[cfg(test)]
mod tests;
