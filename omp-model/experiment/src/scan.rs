//! Unpacks all samples of a recording on all CPUs, and passes them on in their order.

use std::collections::BTreeMap;
use std::num::NonZero;
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::thread;

use crate::column::Scratch;
use crate::rows::Sample;
use crate::samples::Samples;

/// The most samples that are unpacked ahead of the one that is taken; a larger frame goes alone.
const AHEAD: u64 = 1 << 18;

impl Samples {
    /// Calls `make` with the samples of each frame, on all CPUs, and `take` with each result, on
    /// this thread, in the order of the frames. Memory is bounded by [`AHEAD`] samples and their
    /// results.
    pub fn in_order<T: Send>(
        &self,
        make: impl Fn(&[Sample]) -> T + Sync,
        take: impl FnMut(usize, T),
    ) {
        self.in_order_from(0, make, take);
    }

    /// How many frames from a frame on do not decode, and how many samples they say that they have.
    pub(crate) fn undecodable(&self, first: usize) -> (u64, u64) {
        let (mut frames, mut samples) = (0, 0);
        self.in_order_from(first, <[Sample]>::len, |frame, decoded| {
            let said = self.index()[frame].rows;
            if decoded != said as usize {
                frames += 1;
                samples += u64::from(said);
            }
        });
        (frames, samples)
    }

    fn in_order_from<T: Send>(
        &self,
        first: usize,
        make: impl Fn(&[Sample]) -> T + Sync,
        mut take: impl FnMut(usize, T),
    ) {
        let frames = first..self.frames();
        let workers = thread::available_parallelism().map_or(1, NonZero::get);
        let queue = Queue::new(self, first);
        thread::scope(|scope| {
            for _ in 0..workers.min(frames.len()) {
                scope.spawn(|| {
                    let _end = EndOfWork(&queue);
                    let mut scratch = Scratch::new();
                    let mut rows = Vec::new();
                    while let Some(frame) = queue.begin() {
                        self.unpack(frame, &mut scratch, &mut rows);
                        queue.put(frame, make(&rows));
                    }
                });
            }
            let _end = EndOfWork(&queue);
            for frame in frames {
                let Some(made) = queue.take(frame) else { break };
                take(frame, made);
            }
        });
    }
}

/// Frames that are being unpacked or wait to be taken.
struct Queue<'a, T> {
    samples: &'a Samples,
    state: Mutex<State<T>>,
    /// Signals a new result, or the end of a thread that panicked.
    made: Condvar,
    /// Signals that more may be unpacked.
    room: Condvar,
}

struct State<T> {
    /// The next frame to unpack.
    next: usize,
    /// The number of samples in frames that were begun and not taken.
    ahead: u64,
    made: BTreeMap<usize, T>,
    /// Whether a thread has panicked, so that awaited results may never come.
    is_broken: bool,
}

impl<'a, T> Queue<'a, T> {
    fn new(samples: &'a Samples, next: usize) -> Queue<'a, T> {
        Queue {
            samples,
            state: Mutex::new(State {
                next,
                ahead: 0,
                made: BTreeMap::new(),
                is_broken: false,
            }),
            made: Condvar::new(),
            room: Condvar::new(),
        }
    }

    fn state(&self) -> MutexGuard<'_, State<T>> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn rows(&self, frame: usize) -> u64 {
        u64::from(self.samples.index()[frame].rows)
    }

    /// Waits for room, and returns the next frame to unpack.
    fn begin(&self) -> Option<usize> {
        let mut state = self.state();
        loop {
            let frame = state.next;
            if state.is_broken || frame >= self.samples.frames() {
                return None;
            }
            let rows = self.rows(frame);
            if state.ahead == 0 || state.ahead + rows <= AHEAD {
                state.next += 1;
                state.ahead += rows;
                return Some(frame);
            }
            state = wait(&self.room, state);
        }
    }

    fn put(&self, frame: usize, made: T) {
        self.state().made.insert(frame, made);
        self.made.notify_one();
    }

    /// Waits for the result of a frame.
    fn take(&self, frame: usize) -> Option<T> {
        let mut state = self.state();
        loop {
            if let Some(made) = state.made.remove(&frame) {
                state.ahead -= self.rows(frame);
                self.room.notify_all();
                return Some(made);
            }
            if state.is_broken {
                return None;
            }
            state = wait(&self.made, state);
        }
    }
}

fn wait<'s, T>(change: &Condvar, state: MutexGuard<'s, State<T>>) -> MutexGuard<'s, State<T>> {
    change.wait(state).unwrap_or_else(PoisonError::into_inner)
}

/// Wakes the other threads if this one panics.
struct EndOfWork<'l, 'a, T>(&'l Queue<'a, T>);

impl<T> Drop for EndOfWork<'_, '_, T> {
    fn drop(&mut self) {
        if thread::panicking() {
            self.0.state().is_broken = true;
            self.0.made.notify_all();
            self.0.room.notify_all();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ids::{Nanos, StackId, ThreadId, ThreadStateId};
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
                thread_state: ThreadStateId(at as u32 % 5),
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
        assert!(packed.iter().eq(samples));
        Samples::default().in_order(<[Sample]>::len, |_, _| panic!("there is no frame"));
    }

    #[test]
    fn nobody_waits_for_a_frame_whose_making_has_panicked() {
        let sample = |at| Sample {
            time: Nanos(at),
            thread: ThreadId(0),
            cpu: 0,
            kind: SampleKind::User,
            stack: StackId::EMPTY,
            thread_state: ThreadStateId(0),
            within: Within::default(),
        };
        let packed = Samples::of_frames((0..50).map(|at| [sample(9_000 * at)])).unwrap();
        let refuse = |rows: &[Sample]| assert!(rows[0].time < Nanos(90_000), "refused");
        let refused = std::panic::catch_unwind(|| packed.in_order(refuse, |_, ()| {}));
        assert!(refused.is_err());
    }
}
