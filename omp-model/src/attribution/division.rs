//! How a group's time is divided among stacks, in whole nanoseconds and to the last one.

use experiment::tables::ThreadState;

use super::group::{ByLength, Sampled};

/// A group's time, in nanoseconds.
#[derive(Clone, Copy, Debug)]
pub(super) struct Time {
    pub(super) nanos: u64,
    /// Of that, long sleeps, which are listed one by one.
    pub(super) listed: ByLength,
}

impl Time {
    /// Whether it is long sleeps for the most part.
    pub(super) fn is_long(self) -> bool {
        self.long() > self.nanos / 2
    }

    fn long(self) -> u64 {
        self.listed.iter().sum()
    }

    /// Takes away the long sleeps of a group whose samples began none. Waits are not divided so:
    /// long or short, they are in the same code.
    pub(super) fn take_unseen(&mut self, thread_state: ThreadState, stacks: &[Sampled]) -> u64 {
        if thread_state.state.is_wait() || stacks.iter().any(Sampled::has_long) {
            return 0;
        }
        let unseen = self.long().min(self.nanos);
        self.nanos -= unseen;
        self.listed = ByLength::default();
        unseen
    }

    /// The part of each of a group's own stacks.
    ///
    /// Each has the time that it is known to stand for. Other long sleeps are divided by those as long,
    /// and what is left by the short ones, or by the number of samples that stand for no time of known
    /// length.
    pub(super) fn divide(self, stacks: &[Sampled]) -> Vec<u64> {
        let slept = |length: usize| stacks.iter().map(move |sampled| sampled.slept[length]);
        let known: ByLength = std::array::from_fn(|length| slept(length).sum());
        let mut parts = vec![0; stacks.len()];
        let mut left = self.nanos;
        // Listed times are rounded, and may be more than the sum by as much.
        for (length, &known) in known.iter().enumerate().skip(1) {
            left -= spread(known.min(left), slept(length), &mut parts);
        }
        if known[1..].iter().any(|&nanos| nanos > 0) {
            for length in 1..known.len() {
                let unseen = self.listed[length].saturating_sub(known[length]).min(left);
                if let Some(alike) = nearest(&known, length) {
                    left -= spread(unseen, slept(alike), &mut parts);
                }
            }
        }
        left -= spread(left, slept(0), &mut parts);
        let plain = stacks.iter().map(|sampled| u64::from(sampled.plain));
        left -= spread(left, plain, &mut parts);
        if left > 0 {
            let long = stacks.iter().map(|sampled| sampled.slept.iter().sum());
            left -= spread(left, long, &mut parts);
            let counts = stacks.iter().map(|sampled| u64::from(sampled.count));
            spread(left, counts, &mut parts);
        }
        parts
    }
}

/// Sleeps of at least this length are read one by one (`collector/src/sleepers.rs`).
const READ: usize = 4;

/// The length of the sampled sleeps whose stacks an unseen one takes: the nearest to its own, the shorter of two. The
/// long ones are the last resort: what seems such a sleep and was not read was a shorter one, after which the
/// thread waited for a CPU.
fn nearest(known: &ByLength, length: usize) -> Option<usize> {
    let sampled = (0..known.len()).filter(|&it| known[it] > 0);
    sampled.min_by_key(|&it| (it != length && it >= READ, it.abs_diff(length), it))
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
