//! The sums of all slices while they are attributed: what is kept grows with distinct stacks.

use experiment::ids::{StackId, ThreadId, ThreadStateId};
use experiment::state::Scheduling;
use rustc_hash::FxHashMap;

use super::blame::{Charge, Role};
use super::group::{Group, Sampled};
use super::share::{Origin, Share};

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
    pub(super) role: Option<Role>,
    pub(super) nanos: u64,
    pub(super) blame: f64,
}

impl Sum {
    /// Of no one slice.
    pub(super) const fn share(&self) -> Share {
        let group = Group {
            thread: self.thread,
            thread_state: self.thread_state,
            slice: 0,
            scheduling: self.scheduling,
        };
        Share {
            count: self.count,
            nanos: self.nanos,
            blame: self.blame,
            ..Share::none(group, Origin::Own, self.stack, self.kernel)
        }
    }
}

/// The sums of a thread in one state. A group looks for all of its stacks among these alone, which
/// a cache holds as a rule.
#[derive(Debug, Default)]
pub(super) struct Accumulator {
    numbers: FxHashMap<(StackId, bool), u32>,
    sums: Vec<Sum>,
}

impl Accumulator {
    /// Adds samples of a group. Returns the number of the sum at their stack and its role, for
    /// which `role` is asked where they are the first.
    pub(super) fn add_samples(
        &mut self,
        group: Group,
        sampled: &Sampled,
        role: impl FnOnce() -> Option<Role>,
    ) -> (u32, Option<Role>) {
        let Sampled { stack, kernel, .. } = *sampled;
        let sums = &mut self.sums;
        let number = *self.numbers.entry((stack, kernel)).or_insert_with(|| {
            sums.push(Sum {
                thread: group.thread,
                thread_state: group.thread_state,
                stack,
                samples: 0,
                count: 0,
                scheduling: group.scheduling,
                kernel,
                role: role(),
                nanos: 0,
                blame: 0.0,
            });
            sums.len() as u32 - 1
        });
        let sum = &mut sums[number as usize];
        sum.samples += sampled.count;
        (number, sum.role)
    }

    /// Adds time of a group at the stack of so many samples. Returns that time alone.
    pub(super) fn add_time(
        &mut self,
        number: u32,
        samples: u32,
        nanos: u64,
        charge: Charge,
    ) -> Sum {
        let sum = &mut self.sums[number as usize];
        let blame = nanos as f64 / 1e9 * charge.of(sum.role);
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
