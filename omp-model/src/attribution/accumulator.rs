//! The sums of all slices while they are attributed: what is kept grows with distinct stacks.

use experiment::ids::{StackId, ThreadId, ThreadStateId};
use experiment::state::Scheduling;
use rustc_hash::FxHashMap;

use super::blame::{Charge, Role};
use super::group::{Group, Sampled};
use super::share::{Origin, Share};

/// The most sums that are kept. What is sampled at further stacks counts as time at unknown ones, so that
/// a recording in which each sample has a stack of its own takes no more memory than this.
const MOST_SUMS: usize = 1 << 21;

/// All time and all samples of a thread at one stack, in one thread state, on or off the CPU.
#[derive(Clone, Debug)]
pub(super) struct Sum {
    pub(super) thread: ThreadId,
    pub(super) thread_state: ThreadStateId,
    pub(super) stack: StackId,
    /// All samples.
    pub(super) samples: u32,
    /// Samples of groups that have time.
    pub(super) count: u32,
    pub(super) scheduling: Scheduling,
    pub(super) kernel: bool,
    /// [`Origin::Construct`] where it stands for stacks that are not kept.
    pub(super) origin: Origin,
    pub(super) role: Option<Role>,
    pub(super) nanos: u64,
    pub(super) blame: f64,
}

impl Sum {
    /// Its group, of no one slice.
    pub(super) const fn group(&self) -> Group {
        Group {
            thread: self.thread,
            thread_state: self.thread_state,
            slice: 0,
            scheduling: self.scheduling,
        }
    }

    /// Its share, of no one slice.
    pub(super) const fn share(&self) -> Share {
        Share {
            count: self.count,
            nanos: self.nanos,
            blame: self.blame,
            ..Share::none(self.group(), self.origin, self.stack, self.kernel)
        }
    }
}

/// The sums of a thread in one state. A group looks for all of its stacks among these alone, which
/// a cache holds as a rule.
#[derive(Debug, Default)]
pub(super) struct Accumulator {
    known: FxHashMap<(StackId, bool), Known>,
    sums: Vec<Sum>,
}

/// Where the sum of a stack is, and its role, so that asking for these touches one cache line.
#[derive(Clone, Copy, Debug)]
pub(super) struct Known {
    number: u32,
    pub(super) role: Option<Role>,
}

impl Accumulator {
    /// Whether there is a sum at a stack.
    fn knows(&self, sampled: &Sampled) -> bool {
        self.known.contains_key(&(sampled.stack, sampled.kernel))
    }

    /// The sum at a group's stack. Its role is asked for where it is the first one there.
    fn sum_at(
        &mut self,
        group: Group,
        sampled: &Sampled,
        role: impl FnOnce(StackId) -> Option<Role>,
    ) -> Known {
        let Sampled { stack, kernel, .. } = *sampled;
        if let Some(&known) = self.known.get(&(stack, kernel)) {
            return known;
        }
        let known = Known {
            number: self.sums.len() as u32,
            role: role(stack),
        };
        self.known.insert((stack, kernel), known);
        self.sums.push(Sum {
            thread: group.thread,
            thread_state: group.thread_state,
            stack,
            samples: 0,
            count: 0,
            scheduling: group.scheduling,
            kernel,
            origin: Origin::Own,
            role: known.role,
            nanos: 0,
            blame: 0.0,
        });
        known
    }

    /// Adds samples of a group that has no time.
    pub(super) fn add_samples(&mut self, at: Known, samples: u32) {
        self.sums[at.number as usize].samples += samples;
    }

    /// Adds time of a group, and the samples that stand for it. Returns these alone.
    pub(super) fn add_time(&mut self, at: Known, samples: u32, nanos: u64, charge: Charge) -> Sum {
        let sum = &mut self.sums[at.number as usize];
        let blame = nanos as f64 / 1e9 * charge.of(sum.role);
        sum.samples += samples;
        sum.count += samples;
        sum.nanos += nanos;
        sum.blame += blame;
        Sum {
            samples,
            count: samples,
            nanos,
            blame,
            ..*sum
        }
    }
}

/// The accumulators of all threads and states, by number.
#[derive(Debug, Default)]
pub(super) struct Accumulators {
    numbers: FxHashMap<(ThreadId, ThreadStateId, Scheduling), u32>,
    by_number: Vec<Accumulator>,
    /// The number of all sums.
    sums: usize,
}

impl Accumulators {
    /// The number of a group's accumulator.
    pub(super) fn number(&mut self, group: Group) -> u32 {
        let next = self.by_number.len() as u32;
        let number = self
            .numbers
            .entry((group.thread, group.thread_state, group.scheduling));
        let number = *number.or_insert(next);
        if number == next {
            self.by_number.push(Accumulator::default());
        }
        number
    }

    /// The sum at a group's stack, in the group's accumulator. Its `role` is asked for where it is the
    /// first one there; beyond [`MOST_SUMS`] its stack counts as unknown, and its time stands at its
    /// construct.
    pub(super) fn sum_at(
        &mut self,
        number: u32,
        group: Group,
        sampled: &Sampled,
        role: impl FnOnce(StackId) -> Option<Role>,
    ) -> Known {
        let accumulator = &mut self.by_number[number as usize];
        let before = accumulator.sums.len();
        let known = if self.sums < MOST_SUMS || accumulator.knows(sampled) {
            accumulator.sum_at(group, sampled, role)
        } else {
            let unknown = Sampled {
                stack: StackId::EMPTY,
                kernel: false,
                ..*sampled
            };
            let known = accumulator.sum_at(group, &unknown, role);
            accumulator.sums[known.number as usize].origin = Origin::Construct;
            known
        };
        self.sums += accumulator.sums.len() - before;
        known
    }

    pub(super) fn at(&mut self, number: u32) -> &mut Accumulator {
        &mut self.by_number[number as usize]
    }

    /// All sums.
    pub(super) fn into_sums(self) -> Vec<Sum> {
        let sums = self
            .by_number
            .iter()
            .map(|accumulator| accumulator.sums.len());
        let mut all = Vec::with_capacity(sums.sum());
        for accumulator in self.by_number {
            all.extend(accumulator.sums);
        }
        all
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn beyond_the_most_sums_a_new_stack_counts_as_unknown() {
        let group = Group {
            thread: ThreadId(0),
            thread_state: ThreadStateId(0),
            slice: 0,
            scheduling: Scheduling::Running,
        };
        let mut accumulators = Accumulators::default();
        let number = accumulators.number(group);
        let mut add = |stack| {
            let sampled = Sampled::plain(StackId(stack), false, 1);
            let mut asked = None;
            let at = accumulators.sum_at(number, group, &sampled, |stack| {
                asked = Some(stack);
                None
            });
            accumulators.at(number).add_samples(at, 1);
            asked
        };
        for stack in 1..=MOST_SUMS as u32 {
            assert_eq!(add(stack), Some(StackId(stack)));
        }
        assert_eq!(add(u32::MAX), Some(StackId::EMPTY));
        assert_eq!(add(u32::MAX - 1), None);
        assert_eq!(add(7), None);
        let sums = accumulators.into_sums();
        assert_eq!(sums.len(), MOST_SUMS + 1);
        assert_eq!((sums[6].stack, sums[6].samples), (StackId(7), 2));
        let unknown = &sums[MOST_SUMS];
        assert_eq!((unknown.stack, unknown.samples), (StackId::EMPTY, 2));
        assert_eq!(unknown.share().origin, Origin::Construct);
        assert_eq!(sums[6].share().origin, Origin::Own);
    }
}
