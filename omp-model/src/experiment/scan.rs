//! All samples of a recording, unpacked on every CPU and handed on in their order.

use std::num::NonZero;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

use super::column::Scratch;
use super::samples::Samples;
use crate::rows::Sample;

/// So many samples, or one frame if it has more, are unpacked ahead of those that are looked at:
/// enough that starting a thread costs nothing beside it.
const AHEAD: u64 = 1 << 18;

impl Samples {
    /// Makes something of the samples of each frame, on all CPUs, and takes what was made in the
    /// order of the frames, on this thread. Memory is that of [`AHEAD`] samples and what they
    /// became, however many there are.
    pub fn in_order<T: Send>(
        &self,
        make: impl Fn(&[Sample]) -> T + Sync,
        take: impl FnMut(usize, T),
    ) {
        let unpacked = |frame, scratch: &mut Scratch| {
            let mut rows = scratch.rows();
            self.unpack(frame, scratch, &mut rows);
            let made = make(&rows);
            scratch.give_back(rows);
            made
        };
        self.each_frame(unpacked, take);
    }

    /// The same of the frames' numbers; what is made of one unpacks of it what it needs.
    pub(super) fn each_frame<T: Send>(
        &self,
        make: impl Fn(usize, &mut Scratch) -> T + Sync,
        mut take: impl FnMut(usize, T),
    ) {
        let workers = thread::available_parallelism().map_or(1, NonZero::get);
        let mut made: Vec<T> = Vec::new();
        let mut first = 0;
        for batch in self.batches() {
            let at = AtomicUsize::new(batch.start);
            let worker = || {
                let mut own = Vec::new();
                let mut scratch = Scratch::new();
                loop {
                    let frame = at.fetch_add(1, Ordering::Relaxed);
                    if frame >= batch.end {
                        return own;
                    }
                    own.push((frame, make(frame, &mut scratch)));
                }
            };
            let mut next: Vec<(usize, T)> = Vec::with_capacity(batch.len());
            thread::scope(|scope| {
                let workers = workers.min(batch.len());
                let running: Vec<_> = (0..workers).map(|_| scope.spawn(worker)).collect();
                // What was made before is looked at while the next is being made.
                for one in made.drain(..) {
                    take(first, one);
                    first += 1;
                }
                for worker in running {
                    match worker.join() {
                        Ok(own) => next.extend(own),
                        Err(panic) => std::panic::resume_unwind(panic),
                    }
                }
            });
            next.sort_unstable_by_key(|&(frame, _)| frame);
            made.extend(next.into_iter().map(|(_, one)| one));
        }
        for one in made {
            take(first, one);
            first += 1;
        }
    }

    /// Ranges of frames of about [`AHEAD`] samples each.
    fn batches(&self) -> impl Iterator<Item = std::ops::Range<usize>> + '_ {
        let index = self.index();
        let mut start = 0;
        std::iter::from_fn(move || {
            let mut rows = 0;
            let mut end = start;
            while end < index.len() && (rows < AHEAD || end == start) {
                rows += u64::from(index[end].rows);
                end += 1;
            }
            let batch = start..end;
            start = end;
            (!batch.is_empty()).then_some(batch)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ids::{Nanos, StackId, TagId, ThreadId};
    use crate::rows::{SampleKind, Within};

    #[test]
    fn what_is_made_of_frames_comes_in_their_order_and_whole() {
        let samples: Vec<Sample> = (0..900_000)
            .map(|at| Sample {
                time: Nanos(1_000_000 * at),
                thread: ThreadId(0),
                cpu: 0,
                kind: SampleKind::User,
                stack: StackId(at as u32 % 77),
                tag: TagId(at as u32 % 5),
                within: Within {
                    region: 3 * at + at % 7,
                    task: at / 50,
                },
            })
            .collect();
        let packed = Samples::pack(&samples).unwrap();
        assert!(packed.index().len() > 3);
        let mut seen = Vec::new();
        packed.in_order(
            |rows| rows.to_vec(),
            |frame, rows| {
                assert_eq!(packed.index()[frame].first, rows[0].time);
                assert_eq!(packed.index()[frame].rows as usize, rows.len());
                seen.extend(rows);
            },
        );
        assert_eq!(seen, samples);
        Samples::default().in_order(<[Sample]>::len, |_, _| panic!("there is no frame"));
    }
}
