//! Iterations of a worksharing loop with a static schedule that one thread executed one after the
//! other: with more threads, others would have executed some of them.
//!
//! An access that each iteration makes once is numbered by how often its thread has made it before.
//! Two accesses of one loop to one address race if their numbers differ, but for memory that is the
//! thread's own.

use hashbrown::HashMap;
use race_stream::record::{REPEATED, Run};

use crate::memory::{Piece, SHORT};
use crate::sweep::{Overlaps, Span};

/// Accesses of one source in rounds one after the other.
#[derive(Clone, Copy, Debug)]
struct Part {
    piece: Piece,
    /// The first access, and the distance to the next one.
    first: u64,
    stride: i64,
    /// The number of the first access.
    round: u64,
    source: u32,
    /// The loop.
    head: u64,
    /// The segment of the strand: within one, the thread did not synchronise.
    segment: u32,
}

impl Part {
    /// The round in which an address of the part was accessed.
    fn round_of(&self, address: u64) -> u64 {
        if self.stride == 0 {
            return self.round;
        }
        let stride = self.stride.unsigned_abs();
        let past = if self.stride < 0 {
            // The block of the address begins there or below.
            self.first.saturating_sub(address).div_ceil(stride)
        } else {
            (address - self.first.min(address)) / stride
        };
        self.round + past
    }
}

/// What a strand did in rounds since the last barrier.
#[derive(Debug, Default)]
pub struct Rounds {
    parts: Vec<Part>,
    /// How often each source was executed; `None`: unknown.
    executed: HashMap<u32, Option<u64>>,
}

/// Most parts that a strand keeps; with more, its rounds are not compared.
const MOST: usize = 1 << 18;

/// Two accesses of one address in different rounds of one loop.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Meeting {
    /// The sources.
    pub sources: [u32; 2],
    /// The rounds, from 0.
    pub rounds: [u64; 2],
    /// The address.
    pub address: u64,
}

impl Rounds {
    /// The strand, in this segment, executes a source of the loop at `head`. `space` is that of the
    /// memory; `None`: the thread has allocated that itself, and another one would have another.
    pub fn add(&mut self, source: u32, head: u64, segment: u32, space: Option<u32>, run: &Run) {
        let executed = self.executed.entry(source).or_insert(Some(0));
        let Some(round) = *executed else { return };
        *executed = (run.kind & REPEATED == 0).then_some(round + u64::from(run.count));
        let (stride, size) = (i64::from(run.stride), u64::from(run.size));
        let is_overlapping = run.count > 1 && stride.unsigned_abs() < size;
        let is_known = executed.is_some() && !is_overlapping && !self.is_full();
        let Some(space) = space.filter(|_| is_known) else {
            return;
        };
        // Of few accesses the distance is by chance, as `Piece::parts` has it.
        let (parts, count) = match run.count {
            2..=SHORT => (run.count, 1),
            count => (1, count),
        };
        for part in 0..parts {
            let first = run.first.wrapping_add_signed(stride * i64::from(part));
            self.parts.push(Part {
                piece: Piece::of_run(space, first, size, stride, count),
                first,
                stride: if count > 1 { stride } else { 0 },
                round: round + u64::from(part),
                source,
                head,
                segment,
            });
        }
    }

    /// The strand has too many parts to compare them.
    pub fn is_full(&self) -> bool {
        self.parts.len() > MOST
    }

    /// Passes on addresses that two rounds access, and begins anew. `kind` says of a source whether it
    /// writes, and whether it is atomic.
    pub fn check(
        &mut self,
        overlaps: &dyn Overlaps,
        kind: impl Fn(u32) -> (bool, bool),
        found: &mut dyn FnMut(Meeting),
    ) {
        let is_full = self.is_full();
        let mut parts = std::mem::take(&mut self.parts);
        if is_full {
            return;
        }
        // What is at one address in all rounds is often found by the thread's number.
        let mut extents: HashMap<u32, (u64, u64)> = HashMap::new();
        for part in &parts {
            let (low, high) = (part.piece.first, part.piece.end());
            let extent = extents.entry(part.source).or_insert((low, high));
            *extent = (extent.0.min(low), extent.1.max(high));
        }
        parts.retain(|part| {
            let extent = extents.get(&part.source).copied().unwrap_or_default();
            part.stride != 0 || extent != (part.piece.first, part.piece.end())
        });
        parts.sort_unstable_by_key(|part| (part.piece, part.source, part.round));
        let spans: Vec<Span> = parts
            .iter()
            .map(|part| {
                let (writes, is_atomic) = kind(part.source);
                Span {
                    piece: part.piece,
                    writes,
                    is_atomic,
                }
            })
            .collect();
        overlaps.visit(&spans, &mut |one, other, address| {
            let (Some(one), Some(other)) = (parts.get(one), parts.get(other)) else {
                return;
            };
            let rounds = [one.round_of(address), other.round_of(address)];
            let is_one_loop = (one.head, one.segment) == (other.head, other.segment);
            if is_one_loop && rounds[0] != rounds[1] {
                found(Meeting {
                    sources: [one.source, other.source],
                    rounds,
                    address,
                });
            }
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sweep::Sweep;

    fn run(first: u64, stride: i32, count: u32) -> Run {
        Run {
            first,
            stride,
            count,
            size: 8,
            ..Run::default()
        }
    }

    /// Source 0 reads, the others write.
    fn meetings(rounds: &mut Rounds) -> Vec<Meeting> {
        let mut found = Vec::new();
        rounds.check(&Sweep, |source| (source > 0, false), &mut |it| {
            found.push(it)
        });
        found
    }

    #[test]
    fn an_iteration_that_reads_what_the_next_writes_races() {
        let mut rounds = Rounds::default();
        rounds.add(0, 1, 0, Some(0), &run(108, 8, 50));
        rounds.add(1, 1, 0, Some(0), &run(100, 8, 50));
        let found = meetings(&mut rounds);
        assert_eq!(found.len(), 1);
        let Meeting {
            rounds: mut two, ..
        } = found[0];
        two.sort_unstable();
        assert_eq!(two[1] - two[0], 1);
        assert_eq!(meetings(&mut rounds), [], "all is compared once");
    }

    #[test]
    fn what_one_iteration_does_is_in_order() {
        for stride in [8, -8, 24, -24] {
            let mut rounds = Rounds::default();
            rounds.add(0, 1, 0, Some(0), &run(1000, stride, 20));
            rounds.add(1, 1, 0, Some(0), &run(1000, stride, 20));
            assert_eq!(meetings(&mut rounds), []);
        }
    }

    #[test]
    fn scattered_accesses_race_where_they_meet() {
        let scatter = |segments: [u32; 2], heads: [u64; 2]| {
            let mut rounds = Rounds::default();
            for (number, address) in [100, 300, 180].into_iter().enumerate() {
                rounds.add(1, heads[0], segments[0], Some(0), &run(address, 0, 1));
                let other = [200, 100, 180][number];
                rounds.add(2, heads[1], segments[1], Some(0), &run(other, 0, 1));
            }
            meetings(&mut rounds)
        };
        let found = scatter([0, 0], [1, 1]);
        assert_eq!(found.len(), 1, "{found:?}");
        assert_eq!(found[0].address, 100);
        assert_eq!(scatter([0, 1], [1, 1]), [], "synchronisation between them");
        assert_eq!(scatter([0, 0], [1, 2]), [], "two loops");
    }

    #[test]
    fn one_address_in_all_rounds_and_uncounted_accesses_are_left_out() {
        let mut rounds = Rounds::default();
        for _ in 0..3 {
            rounds.add(1, 1, 0, Some(0), &run(100, 0, 1));
        }
        assert_eq!(meetings(&mut rounds), []);
        let repeated = Run {
            kind: REPEATED,
            ..run(100, 8, 4)
        };
        rounds.add(2, 1, 0, Some(0), &repeated);
        rounds.add(2, 1, 0, Some(0), &run(100, 8, 4));
        rounds.add(3, 1, 0, Some(0), &run(108, 8, 4));
        assert_eq!(meetings(&mut rounds), []);
    }
}
