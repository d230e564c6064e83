//! The sums of all slices while they are attributed: what is kept grows with distinct stacks.

use rustc_hash::FxHashMap;

use super::blame::Role;
use super::group::{Group, Sampled};
use super::share::{Origin, Share};
use crate::ids::{StackId, TagId, ThreadId};
use crate::state::Presence;

/// All time and all samples of a thread at one stack, in one thread state, on or off the CPU.
#[derive(Clone, Debug)]
pub(super) struct Sum {
    pub(super) thread: ThreadId,
    pub(super) tag: TagId,
    pub(super) stack: StackId,
    pub(super) presence: Presence,
    pub(super) kernel: bool,
    pub(super) role: Option<Role>,
    /// All samples.
    pub(super) samples: u32,
    /// Samples of groups that have time.
    pub(super) count: u32,
    pub(super) nanos: u64,
    pub(super) blame: f64,
}

impl Sum {
    /// Of no one slice.
    pub(super) const fn share(&self) -> Share {
        let group = Group {
            thread: self.thread,
            tag: self.tag,
            slice: 0,
            presence: self.presence,
        };
        Share {
            count: self.count,
            nanos: self.nanos,
            blame: self.blame,
            ..Share::none(group, Origin::Own, self.stack, self.kernel)
        }
    }
}

/// What tells sums apart.
type Key = (ThreadId, TagId, StackId, Presence, bool);

/// The sums, each with a number.
#[derive(Debug, Default)]
pub(super) struct Accumulator {
    numbers: FxHashMap<Key, u32>,
    pub(super) sums: Vec<Sum>,
}

impl Accumulator {
    /// The number of the sum of a group at one of its stacks. `role` is asked for that of a new one.
    pub(super) fn number(
        &mut self,
        group: Group,
        sampled: &Sampled,
        role: impl FnOnce() -> Option<Role>,
    ) -> u32 {
        let Group {
            thread,
            tag,
            presence,
            ..
        } = group;
        let Sampled { stack, kernel, .. } = *sampled;
        let sums = &mut self.sums;
        let number = self.numbers.entry((thread, tag, stack, presence, kernel));
        *number.or_insert_with(|| {
            sums.push(Sum {
                thread,
                tag,
                stack,
                presence,
                kernel,
                role: role(),
                samples: 0,
                count: 0,
                nanos: 0,
                blame: 0.0,
            });
            sums.len() as u32 - 1
        })
    }
}
