//! Samples of counters that the kernel dropped, for which others count.
//!
//! A burst of events fills a ring faster than it can be read. Its dropped samples count where the last sample
//! before them is: that is in the burst, and the next one may not be. If it may be written already, they
//! count where the next one is.

use experiment::ids::{Nanos, ThreadId};
use experiment::rows::Sample;
use rustc_hash::FxHashMap;

/// A sample counts for so many others at most. Each is a row of the experiment.
const MOST: u64 = 10_000;

/// A sample of a counter: the counter's number, the thread and the time.
pub type OfCounter = (usize, ThreadId, Nanos);

/// What was dropped, of all rings of counters.
#[derive(Debug, Default)]
pub struct Dropped {
    /// By ring.
    rings: Vec<OfRing>,
    /// For how many others a sample counts.
    counts_for: FxHashMap<OfCounter, u64>,
    /// Samples up to this time may be written.
    written_to: u64,
}

#[derive(Clone, Copy, Debug, Default)]
struct OfRing {
    /// The last sample.
    last: Option<OfCounter>,
    /// The number of samples for which the next one counts.
    waiting: u64,
    /// The number of all that were dropped so far.
    lost: u64,
}

impl Dropped {
    fn ring(&mut self, ring: usize) -> &mut OfRing {
        if self.rings.len() <= ring {
            self.rings.resize(ring + 1, OfRing::default());
        }
        &mut self.rings[ring]
    }

    /// Samples of a ring were dropped. Returns for how many of them an earlier sample counts.
    pub fn lost(&mut self, ring: usize, count: u64) -> u64 {
        let written_to = self.written_to;
        let of_ring = self.ring(ring);
        of_ring.lost = of_ring.lost.saturating_add(count);
        match of_ring.last.filter(|last| last.2.0 > written_to) {
            Some(last) => {
                let counted = self.counts_for.entry(last).or_default();
                let before = *counted;
                *counted = before.saturating_add(count).min(MOST);
                *counted - before
            }
            None => {
                of_ring.waiting = of_ring.waiting.saturating_add(count);
                0
            }
        }
    }

    /// A sample was taken from a ring; `None` if it is of a process that is not recorded. Returns for how
    /// many dropped ones it counts.
    pub fn taken(&mut self, ring: usize, sample: Option<OfCounter>) -> u64 {
        let of_ring = self.ring(ring);
        of_ring.last = sample;
        let others = std::mem::take(&mut of_ring.waiting).min(MOST);
        if let Some(sample) = sample.filter(|_| others > 0) {
            self.counts_for.insert(sample, others);
        }
        others
    }

    /// How many of all samples that a ring has dropped no record tells of: those behind its last one.
    pub fn untold(&mut self, ring: usize, all: u64) -> u64 {
        all.saturating_sub(self.ring(ring).lost)
    }

    /// Repeats the samples of a counter that are about to be written, each for those that it counts for.
    pub fn repeat(&mut self, number: usize, samples: &mut Vec<Sample>) {
        if self.counts_for.is_empty() {
            return;
        }
        let each = samples.iter().flat_map(|sample| {
            let key = (number, sample.thread, sample.time);
            let others = self.counts_for.remove(&key).unwrap_or(0);
            std::iter::repeat_n(*sample, 1 + others as usize)
        });
        *samples = each.collect();
    }

    /// Samples up to a time are written.
    pub fn written(&mut self, to: u64) {
        self.written_to = to;
    }
}

#[cfg(test)]
mod tests {
    use experiment::ids::{StackId, ThreadStateId};
    use experiment::rows::{SampleKind, Within};

    use super::*;

    const THREAD: ThreadId = ThreadId(3);

    fn sample(time: u64) -> Sample {
        Sample {
            time: Nanos(time),
            thread: THREAD,
            cpu: 0,
            kind: SampleKind::User,
            stack: StackId::EMPTY,
            thread_state: ThreadStateId::OUTSIDE,
            within: Within::default(),
        }
    }

    /// The times of a counter's samples as they are written.
    fn repeated(dropped: &mut Dropped, number: usize, times: &[u64]) -> Vec<u64> {
        let mut samples: Vec<Sample> = times.iter().map(|&time| sample(time)).collect();
        dropped.repeat(number, &mut samples);
        samples.iter().map(|sample| sample.time.0).collect()
    }

    #[test]
    fn what_a_burst_loses_counts_where_its_last_sample_is() {
        let mut dropped = Dropped::default();
        let of = |time| Some((1, THREAD, Nanos(time)));
        assert_eq!(dropped.taken(4, of(10)), 0);
        assert_eq!(dropped.taken(4, of(20)), 0);
        assert_eq!(dropped.lost(4, 3), 3);
        assert_eq!(dropped.taken(4, of(90)), 0);
        assert_eq!((dropped.untold(4, 5), dropped.untold(4, 0)), (2, 0));
        // A ring of its own.
        assert_eq!(dropped.taken(5, Some((0, THREAD, Nanos(20)))), 0);
        assert_eq!(repeated(&mut dropped, 0, &[20]), [20]);
        assert_eq!(
            repeated(&mut dropped, 1, &[10, 20, 90]),
            [10, 20, 20, 20, 20, 90]
        );
        assert_eq!(repeated(&mut dropped, 1, &[20]), [20]);
    }

    #[test]
    fn what_is_lost_after_a_written_sample_counts_where_the_next_one_is() {
        let mut dropped = Dropped::default();
        let of = |time| Some((0, THREAD, Nanos(time)));
        dropped.taken(0, of(10));
        dropped.written(10);
        assert_eq!((dropped.lost(0, 2), dropped.lost(0, 3)), (0, 0));
        assert_eq!(dropped.taken(0, of(50)), 5);
        assert_eq!(repeated(&mut dropped, 0, &[50]), [50; 6]);
        // Of a process that is not recorded: nothing stands for it.
        assert_eq!(dropped.lost(0, 2), 2);
        assert_eq!(dropped.taken(0, None), 0);
        assert_eq!(dropped.lost(0, 7), 0);
        assert_eq!(dropped.taken(0, None), 7);
    }

    #[test]
    fn a_sample_counts_for_a_bounded_number() {
        let mut dropped = Dropped::default();
        dropped.taken(0, Some((0, THREAD, Nanos(10))));
        assert_eq!(dropped.lost(0, MOST - 1), MOST - 1);
        assert_eq!((dropped.lost(0, u64::MAX), dropped.lost(0, 1)), (1, 0));
        assert_eq!(repeated(&mut dropped, 0, &[10]).len() as u64, 1 + MOST);
    }
}
