//! How a group's time is divided among stacks, in whole nanoseconds and to the last one.

use experiment::tables::ThreadState;

use super::group::Sampled;

/// A group's time, in nanoseconds.
#[derive(Clone, Copy, Debug)]
pub(super) struct Time {
    pub(super) nanos: u64,
    /// Of that, long sleeps, which are listed one by one.
    pub(super) listed: u64,
}

impl Time {
    /// Whether it is long sleeps for the most part.
    pub(super) const fn is_long(self) -> bool {
        self.listed > self.nanos / 2
    }

    /// Takes away the long sleeps of a group whose samples began none. Waits are not divided so:
    /// long or short, they are in the same code.
    pub(super) fn take_unseen(&mut self, thread_state: ThreadState, stacks: &[Sampled]) -> u64 {
        if thread_state.state.is_wait() || stacks.iter().any(|sampled| sampled.long > 0) {
            return 0;
        }
        let unseen = self.listed.min(self.nanos);
        self.nanos -= unseen;
        self.listed = 0;
        unseen
    }

    /// The part of each of a group's own stacks.
    ///
    /// Each has the time that it is known to stand for. Other long sleeps are divided by the long
    /// ones of those, and what is left by the short ones, or by the number of samples that stand
    /// for no time of known length.
    pub(super) fn divide(self, stacks: &[Sampled]) -> Vec<u64> {
        let long = stacks.iter().map(|sampled| sampled.long);
        let brief = stacks.iter().map(|sampled| sampled.brief);
        let plain = stacks.iter().map(|sampled| u64::from(sampled.plain));
        let known: u64 = long.clone().sum();
        let mut parts = vec![0; stacks.len()];
        let mut left = self.nanos;
        if known > 0 {
            // Listed times are rounded, and may be more than the sum by as much.
            left -= spread(known.min(left), long.clone(), &mut parts);
            let unseen = self.listed.saturating_sub(known).min(left);
            left -= spread(unseen, long.clone(), &mut parts);
        }
        left -= spread(left, brief, &mut parts);
        left -= spread(left, plain, &mut parts);
        if left > 0 {
            left -= spread(left, long, &mut parts);
            let counts = stacks.iter().map(|sampled| u64::from(sampled.count));
            spread(left, counts, &mut parts);
        }
        parts
    }
}

/// The part of each of the stacks that a group without samples takes: by the numbers of samples,
/// which say where a thread usually is.
pub(super) fn divide_inferred(nanos: u64, stacks: &[Sampled]) -> Vec<u64> {
    let counts = stacks.iter().map(|sampled| u64::from(sampled.count));
    let mut parts = vec![0; stacks.len()];
    spread(nanos, counts, &mut parts);
    parts
}

/// Adds `nanos` to `parts` in proportion to the weights; nothing if those are all 0. Returns what
/// was added.
pub(super) fn spread(
    nanos: u64,
    weights: impl Iterator<Item = u64> + Clone,
    parts: &mut [u64],
) -> u64 {
    let total: u128 = weights.clone().map(u128::from).sum();
    if total == 0 {
        return 0;
    }
    // Nearly always the products fit, and then a division takes a tenth of the time.
    let small = u64::try_from(total).ok();
    let small = small.filter(|&total| nanos.checked_mul(total).is_some());
    let upto = |weight: u128| match small {
        Some(total) => nanos * weight as u64 / total,
        None => (u128::from(nanos) * weight / total) as u64,
    };
    let (mut weight, mut before) = (0, 0);
    for (part, more) in parts.iter_mut().zip(weights) {
        weight += u128::from(more);
        let after = upto(weight);
        *part += after - before;
        before = after;
    }
    nanos
}
