//! Measured time slice by slice, unpacked as it is asked for.

use std::cmp::Reverse;
use std::collections::BTreeMap;

use experiment::rows::Sum;
use experiment::{Sums, Unpacking};

use super::group::Group;

/// The measured time of a recording, to be taken in the order of slices. What is unpacked is what
/// was written together with what is taken: a second or two of the recording, and what came late.
pub(super) struct Measured<'a> {
    sums: &'a Sums,
    /// The frames that are not unpacked yet, the one with the earliest slice last.
    frames: Vec<u32>,
    /// By slice.
    unpacked: BTreeMap<u32, Vec<(Group, u64)>>,
    unpacking: Unpacking<'a, Sum>,
}

impl<'a> Measured<'a> {
    pub(super) fn new(sums: &'a Sums) -> Measured<'a> {
        let mut frames: Vec<u32> = (0..sums.firsts().len() as u32).collect();
        frames.sort_by_key(|&frame| Reverse((sums.firsts()[frame as usize], frame)));
        let mut measured = Measured {
            sums,
            frames,
            unpacked: BTreeMap::new(),
            unpacking: sums.unpacking(),
        };
        add(&mut measured.unpacked, sums.tail());
        measured
    }

    /// The first slice that has time and was not taken.
    pub(super) fn next(&self) -> Option<u32> {
        let unpacked = self.unpacked.keys().next().copied();
        let frame = self.frames.last();
        let packed = frame.map(|&frame| self.sums.firsts()[frame as usize]);
        unpacked.into_iter().chain(packed).min()
    }

    /// The nanoseconds of each group of a slice, in the order of groups; none of an earlier slice
    /// may be left.
    pub(super) fn take(&mut self, slice: u32) -> Vec<(Group, u64)> {
        let first = |frame: u32| self.sums.firsts()[frame as usize];
        while let Some(frame) = self.frames.pop_if(|&mut frame| first(frame) <= slice) {
            add(&mut self.unpacked, self.unpacking.frame(frame as usize));
        }
        let mut times = self.unpacked.remove(&slice).unwrap_or_default();
        times.sort_unstable_by_key(|&(group, _)| group);
        times.dedup_by(|next, sum| {
            let same = next.0 == sum.0;
            if same {
                sum.1 += next.1;
            }
            same
        });
        times
    }
}

fn add(unpacked: &mut BTreeMap<u32, Vec<(Group, u64)>>, rows: &[Sum]) {
    for of_slice in rows.chunk_by(|one, other| one.slice == other.slice) {
        let times = unpacked.entry(of_slice[0].slice).or_default();
        times.extend(of_slice.iter().map(|row| {
            let group = Group {
                thread: row.thread,
                thread_state: row.thread_state,
                slice: row.slice,
                scheduling: row.scheduling,
            };
            (group, row.time.0)
        }));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use experiment::ids::{Nanos, ThreadId, ThreadStateId};
    use experiment::state::Scheduling;

    #[test]
    fn rows_of_a_slice_come_together_wherever_they_were_written() {
        let row = |slice, thread, time| Sum {
            slice,
            thread: ThreadId(thread),
            thread_state: ThreadStateId(1),
            scheduling: Scheduling::Running,
            time: Nanos(time),
            count: 1,
        };
        // Enough to be packed in several frames, and a late row of the first slice at the end.
        let early = (0..40_000).map(|at| row(at / 10_000, at % 4, 1));
        let sums: Sums = early.chain([row(0, 2, 500)]).collect();
        assert!(sums.firsts().len() > 1);
        let mut measured = Measured::new(&sums);
        let mut taken = Vec::new();
        while let Some(slice) = measured.next() {
            let times = measured.take(slice);
            taken.push((
                slice,
                times.iter().map(|(_, time)| *time).collect::<Vec<_>>(),
            ));
        }
        let even = vec![2500; 4];
        let first = vec![2500, 2500, 3000, 2500];
        let expected = [(0, first), (1, even.clone()), (2, even.clone()), (3, even)];
        assert_eq!(taken, expected);
    }
}
