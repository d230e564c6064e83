//! The worksharing loops that a thread is in, and what is added to their sums when they end.
//!
//! A front-end tells when the thread comes to a loop, asks for a part of it, gets one, and leaves the
//! loop. It knows its caller's frame alone. A loop is left without a call if the program jumps out of
//! it, so the frame decides which loops are still open: those of callers, whose frames lie above.

use omp_ring::loops::{LoopEntry, LoopKey, Schedule};
use omp_ring::producer::Producer;

/// Number of loops within one another, in nested regions, that are recorded.
const DEEPEST: usize = 8;

/// By how much the frames of two calls from one function differ at most: some pass arguments on the
/// stack.
const SAME_FRAME: u64 = 64;

/// One in so many calls for a chunk is measured: reading the clock takes as long as such a call. A
/// prime number, so that it falls on all calls of loops whose number of chunks is regular.
const MEASURED: u8 = 13;

/// The loops of a thread.
#[derive(Debug)]
pub(crate) struct Loops {
    open: [Open; DEEPEST],
    depth: usize,
    /// Calls until the next one that is measured.
    unmeasured: u8,
}

/// A loop that the thread is in.
#[derive(Clone, Copy, Debug)]
struct Open {
    key: LoopKey,
    frame: u64,
    /// The time of its begin.
    begin: u64,
    chunk: u64,
    /// The distance of two iterations.
    step: u64,
    iterations: u64,
    chunks: u64,
    calls_time: u64,
    calls: u64,
}

/// A loop as its first call tells it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Loop {
    /// The call and the schedule.
    pub(crate) key: LoopKey,
    /// The chunk's length in iterations; 0 if none is given.
    pub(crate) chunk: u64,
    /// The distance of two iterations, at least 1.
    pub(crate) step: u64,
}

/// The loop's entry in the table; `None` if there is no room, or while recording is paused.
#[inline]
fn entry<'a>(ring: &'a Producer<'_>, key: LoopKey) -> Option<&'a LoopEntry> {
    if ring.is_paused() {
        return None;
    }
    ring.loop_entry(key)
}

impl Loops {
    /// In no loop.
    pub(crate) const fn new() -> Loops {
        const NONE: Open = Open {
            key: LoopKey::new(0, Schedule(0)),
            frame: 0,
            begin: 0,
            chunk: 0,
            step: 1,
            iterations: 0,
            chunks: 0,
            calls_time: 0,
            calls: 0,
        };
        Loops {
            open: [NONE; DEEPEST],
            depth: 0,
            unmeasured: MEASURED,
        }
    }

    /// The thread comes to a loop in the function with this frame.
    #[inline]
    pub(crate) fn begin(&mut self, ring: &Producer<'_>, frame: u64, it: Loop) {
        // Loops of this function and of those that it called have ended.
        self.leave(frame.wrapping_add(SAME_FRAME));
        let Some(open) = self.open.get_mut(self.depth) else {
            return;
        };
        *open = Open {
            key: it.key,
            frame,
            begin: ring.now(),
            chunk: it.chunk,
            step: it.step.max(1),
            iterations: 0,
            chunks: 0,
            calls_time: 0,
            calls: 0,
        };
        self.depth += 1;
    }

    /// Forgets the loops of functions with frames below this one.
    #[inline]
    fn leave(&mut self, frame: u64) {
        while let Some(last) = self.last()
            && last.frame < frame
        {
            self.depth -= 1;
        }
    }

    /// The innermost loop.
    #[inline(always)]
    fn last(&mut self) -> Option<&mut Open> {
        self.depth
            .checked_sub(1)
            .and_then(|at| self.open.get_mut(at))
    }

    /// The loop that the function with this frame is in.
    #[inline]
    fn of(&mut self, frame: u64) -> Option<&mut Open> {
        self.leave(frame.saturating_sub(SAME_FRAME));
        self.last()
            .filter(|open| open.frame <= frame.wrapping_add(SAME_FRAME))
    }

    /// Whether the function with this frame is in a loop.
    #[inline]
    pub(crate) fn is_in(&mut self, frame: u64) -> bool {
        self.of(frame).is_some()
    }

    /// Before a call for a chunk: the time, if the call is to be measured, else 0.
    #[inline]
    pub(crate) fn asks(&mut self, ring: &Producer<'_>) -> u64 {
        self.unmeasured = self.unmeasured.wrapping_sub(1);
        if self.unmeasured != 0 {
            return 0;
        }
        self.unmeasured = MEASURED;
        ring.now()
    }

    /// After that call, which began at `asked`: the chunk's `distance` from its first value to beyond
    /// its last one; 0 if there was no chunk left.
    #[inline]
    pub(crate) fn got(&mut self, ring: &Producer<'_>, frame: u64, asked: u64, distance: u64) {
        let Some(open) = self.of(frame) else {
            return;
        };
        if asked != 0 {
            open.calls += 1;
            open.calls_time += ring.now().wrapping_sub(asked);
        }
        if distance != 0 {
            open.chunks += 1;
            open.iterations += match open.step {
                1 => distance,
                step => distance.div_ceil(step),
            };
        }
    }

    /// After a call that gives the thread all its iterations at once.
    #[inline]
    pub(crate) fn got_all(&mut self, frame: u64, chunks: u64, iterations: u64) {
        if let Some(open) = self.of(frame) {
            open.chunks += chunks;
            open.iterations += iterations;
        }
    }

    /// The thread leaves the loop of the function with this frame.
    #[inline]
    pub(crate) fn end(&mut self, ring: &Producer<'_>, frame: u64) {
        let Some(open) = self.of(frame) else {
            return;
        };
        let open = *open;
        self.depth -= 1;
        if let Some(entry) = entry(ring, open.key) {
            entry.instances.add(1);
            if open.chunk != 0 {
                entry.chunk.set(open.chunk);
            }
            entry.iterations.add(open.iterations);
            entry.chunks.add(open.chunks);
            entry.time.add(ring.now().wrapping_sub(open.begin));
            if open.calls != 0 {
                entry.calls.add(open.calls);
                entry.calls_time.add(open.calls_time);
            }
        }
    }

    /// The single of the function with this frame ends, or that of any function: it has been counted
    /// when it began ([`passed`](Self::passed)).
    #[inline]
    pub(crate) fn end_single(&mut self, ring: &Producer<'_>, frame: Option<u64>) {
        let found = match frame {
            _ if self.depth == 0 => return,
            Some(frame) => self.of(frame),
            None => self.last(),
        };
        let single = found.filter(|open| open.key.schedule() == Schedule::SINGLE);
        let Some(single) = single.copied() else {
            return;
        };
        self.depth -= 1;
        if let Some(entry) = entry(ring, single.key) {
            entry.time.add(ring.now().wrapping_sub(single.begin));
        }
    }

    /// A construct without an end that could be seen.
    #[inline]
    pub(crate) fn passed(&mut self, ring: &Producer<'_>, it: Loop, iterations: u64) {
        if let Some(entry) = entry(ring, it.key) {
            entry.instances.add(1);
            if it.chunk != 0 {
                entry.chunk.set(it.chunk);
            }
            entry.iterations.add(iterations);
        }
    }
}
