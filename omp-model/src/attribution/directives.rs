//! Time of contexts that have no samples, from those of the same directive's other contexts.
//!
//! A task that creates tasks like itself has a context for each path to it, and a region that is
//! called from many places one for each. Samples fall into few of these, which have little time each,
//! although they tell well what the directive's code does as a whole. So the directive's time is divided
//! among the stacks of all its samples. Contexts with samples keep what they have; each context without
//! samples takes as much of the rest as it has time.

use std::collections::BTreeMap;

use rustc_hash::FxHashMap;

use experiment::ids::{FrameId, StackId};
use experiment::state::{Scheduling, State};
use experiment::tables::{StackEntry, Tables, ThreadKind};

use super::accumulator::Sum;
use super::division::spread;
use super::group::{Group, kind_of, thread_state_of};

/// The least nanoseconds that are handed out at once.
const PIECE: u64 = 1_000_000;

/// The most pieces of a directive's time, so that their number does not grow with the recording.
const PIECES: u64 = 1 << 16;

/// What threads of a kind do in a directive: a state, in a call or in none, and whether they sleep.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(super) struct Directive {
    body: FrameId,
    state: State,
    call: FrameId,
    kind: ThreadKind,
    sleeps: bool,
}

impl Directive {
    /// That of a group of time; `None` for waits and idleness, which events place, and outside of
    /// constructs.
    pub(super) fn of(tables: &Tables, group: Group) -> Option<Directive> {
        let thread_state = thread_state_of(tables, group.thread_state);
        let state = thread_state.state;
        let context = tables.contexts.get(thread_state.context.0)?;
        let fork = || match tables.walk(context.stack).next()? {
            StackEntry::Frame(frame) => Some(frame),
            StackEntry::Cut(_) => None,
        };
        let body = Some(context.body).filter(|&body| body != FrameId::NONE);
        let has_samples = !state.is_wait() && state != State::Idle;
        Some(Directive {
            body: body.or_else(fork).filter(|_| has_samples)?,
            state,
            call: thread_state.call,
            kind: kind_of(tables, group.thread),
            sleeps: group.scheduling == Scheduling::Blocked,
        })
    }
}

/// What the contexts of a directive have at a stack.
#[derive(Clone, Copy, Debug, Default)]
struct Had {
    samples: u64,
    nanos: u64,
}

/// A stack, and whether the clock fired in the kernel there.
type At = (StackId, bool);

/// Stacks by directive. Only directives whose contexts have time without samples are in it.
#[derive(Debug, Default)]
pub(super) struct Directives {
    stacks: FxHashMap<Directive, BTreeMap<At, Had>>,
}

impl Directives {
    /// Of these directives, with the samples of all.
    pub(super) fn new(
        tables: &Tables,
        wanted: impl Iterator<Item = Directive>,
        sums: &[Sum],
    ) -> Directives {
        let stacks = wanted.map(|directive| (directive, BTreeMap::new()));
        let mut directives = Directives {
            stacks: stacks.collect(),
        };
        for sum in sums {
            directives.add(
                tables,
                sum.group(),
                (sum.stack, sum.kernel),
                Had {
                    samples: u64::from(sum.count),
                    nanos: sum.nanos,
                },
            );
        }
        directives
    }

    /// Adds time of a context that was given to a stack already.
    pub(super) fn add_given(&mut self, tables: &Tables, group: Group, at: At, nanos: u64) {
        self.add(tables, group, at, Had { samples: 0, nanos });
    }

    fn add(&mut self, tables: &Tables, group: Group, at: At, more: Had) {
        if self.stacks.is_empty() {
            return;
        }
        let directive = Directive::of(tables, group);
        if let Some(stacks) = directive.and_then(|directive| self.stacks.get_mut(&directive)) {
            let had = stacks.entry(at).or_default();
            had.samples += more.samples;
            had.nanos += more.nanos;
        }
    }

    /// Divides `rest` nanoseconds of a directive's contexts without samples among its stacks, in pieces
    /// that lie mixed; nothing if it has no samples.
    pub(super) fn hand_out(&self, directive: Directive, rest: u64) -> Vec<(At, u64)> {
        let Some(stacks) = self.stacks.get(&directive) else {
            return Vec::new();
        };
        let samples: u64 = stacks.values().map(|had| had.samples).sum();
        let all = rest + stacks.values().map(|had| had.nanos).sum::<u64>();
        // Each stack's part of the whole directive, without what it has.
        let missing = stacks.values().map(|had| {
            let whole = u128::from(all) * u128::from(had.samples) / u128::from(samples.max(1));
            (whole as u64).saturating_sub(had.nanos)
        });
        let mut parts = vec![0; stacks.len()];
        if spread(rest, missing, &mut parts) == 0 {
            spread(rest, stacks.values().map(|had| had.samples), &mut parts);
        }
        let piece = PIECE.max(rest / PIECES);
        let mut pieces: Vec<(f64, At, u64)> = Vec::new();
        for (rank, (&at, part)) in stacks.keys().zip(parts).enumerate() {
            let count = part.div_ceil(piece);
            // The fractional parts of multiples of the golden ratio are spread evenly.
            let offset = (rank as f64 * 0.618_033_988_75).fract();
            pieces.extend((0..count).map(|number| {
                let upto = |number: u64| {
                    (u128::from(part) * u128::from(number) / u128::from(count)) as u64
                };
                let place = (number as f64 + offset) / count as f64;
                (place, at, upto(number + 1) - upto(number))
            }));
        }
        pieces.sort_by(|left, right| left.0.total_cmp(&right.0).then(left.1.cmp(&right.1)));
        pieces
            .into_iter()
            .map(|(_, at, nanos)| (at, nanos))
            .collect()
    }
}
