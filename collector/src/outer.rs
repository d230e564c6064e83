//! The outer frames of stacks that are deeper than the piece copied with their sample.
//!
//! They are read from the thread's memory a moment later ([`crate::beyond`]). Where that is gone or
//! has changed, they are those that another sample of the thread had in the same frame: of the same
//! function, with its return address in the same slot.

use std::cell::Cell;

use omp_model::ids::{StackId, ThreadId};
use rustc_hash::FxHashMap;
use unwinder::{AddressSpace, CutReason, Ending, Regs, StackBytes, StackMemory, UnwindCache};

use crate::beyond::{self, Beyond};

/// Most frames that are remembered of a thread, and most threads: more are begun anew.
const MOST_PLACES: usize = 64;
const MOST_THREADS: usize = 4096;

/// The user half of a sample.
pub struct Piece<'a> {
    /// Its process.
    pub pid: i32,
    /// Its registers.
    pub regs: &'a Regs,
    /// The stack from the stack pointer up, as far as it was copied.
    pub stack: &'a [u8],
}

/// An unwound stack.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Unwound {
    /// How it ended.
    pub ending: Ending,
    /// Where it goes on beyond the copied piece, if it does.
    pub deep: Option<Deep>,
}

/// A stack that is deeper than its copied piece.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Deep {
    /// So many of its frames are in the piece.
    pub inner: usize,
    /// The outermost of those; `None` in code of which no bounds are known.
    pub place: Option<Place>,
    /// Whether a return address in the piece proved that the frames read a moment later were those
    /// of the sample. Else another caller may have been there.
    pub proven: bool,
}

/// A frame of a thread, whatever its function was doing.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Place {
    /// Where its function begins.
    function: u64,
    /// What of it was the first to lie beyond the piece: the slot of its return address, or of a
    /// register that it saved.
    slot: u64,
}

/// Finds outer frames; keeps what that needs from sample to sample.
#[derive(Default)]
pub struct Outer {
    beyond: Beyond,
    whole: Vec<u64>,
    /// The callers of frames.
    callers: FxHashMap<ThreadId, FxHashMap<Place, StackId>>,
    /// Stacks whose outer frames were read a moment later.
    pub read: u64,
    /// Stacks whose outer frames are those of another sample.
    pub remembered: u64,
}

/// Nothing can be read, but what was asked for first is known.
#[derive(Default)]
struct Probe(Cell<Option<u64>>);

impl StackMemory for Probe {
    fn read(&self, address: u64) -> Option<u64> {
        self.0.set(self.0.get().or(Some(address)));
        None
    }
}

impl Piece<'_> {
    fn bytes<'a>(&'a self, beyond: &'a dyn StackMemory) -> StackBytes<'a> {
        StackBytes {
            sp: self.regs.sp(),
            bytes: self.stack,
            beyond: Some(beyond),
        }
    }
}

impl Outer {
    /// Unwinds a stack into `found`, which is empty: also what lies beyond the piece, if that can
    /// still be read.
    pub fn unwind(
        &mut self,
        space: &AddressSpace,
        cache: &mut UnwindCache,
        piece: &Piece<'_>,
        found: &mut Vec<u64>,
    ) -> Unwound {
        let probe = Probe::default();
        let ending = space.unwind(cache, piece.regs, &piece.bytes(&probe), found);
        let (Ending::Cut(CutReason::DumpTooSmall), Some(slot)) = (ending, probe.0.get()) else {
            return Unwound { ending, deep: None };
        };
        let inner = found.len();
        let outermost = found.last().copied().unwrap_or_default();
        let place = space
            .function_at(outermost.wrapping_sub(u64::from(inner > 1)))
            .map(|function| Place { function, slot });
        let is_whole = self.read(space, cache, piece, found);
        if is_whole {
            self.read += 1;
            std::mem::swap(found, &mut self.whole);
        }
        Unwound {
            ending: if is_whole { Ending::Complete } else { ending },
            deep: Some(Deep {
                inner,
                place,
                proven: inner > 1,
            }),
        }
    }

    /// From the thread's memory as it is now into `whole`, if it is as it was.
    fn read(
        &mut self,
        space: &AddressSpace,
        cache: &mut UnwindCache,
        piece: &Piece<'_>,
        found: &[u64],
    ) -> bool {
        let Some(memory) = self.beyond.of(piece.pid) else {
            return false;
        };
        let bytes = piece.bytes(&memory);
        self.whole.clear();
        beyond::is_unchanged(&memory, &bytes, found)
            && space.unwind(cache, piece.regs, &bytes, &mut self.whole) == Ending::Complete
            && match (found, &*self.whole) {
                // The slot of a function that has returned holds anything by now.
                ([leaf], [_, caller, ..]) => space.may_call(*caller, *leaf),
                _ => true,
            }
    }

    /// What calls the frame at a place of a thread, as another sample had it.
    pub fn callers(&self, thread: ThreadId, place: Place) -> Option<StackId> {
        self.callers.get(&thread)?.get(&place).copied()
    }

    /// Remembers what calls the frame at a place.
    pub fn remember(&mut self, thread: ThreadId, place: Place, callers: StackId) {
        if self.callers.len() >= MOST_THREADS && !self.callers.contains_key(&thread) {
            self.callers.clear();
        }
        let places = self.callers.entry(thread).or_default();
        if places.len() >= MOST_PLACES && !places.contains_key(&place) {
            places.clear();
        }
        places.insert(place, callers);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_remembered_of_a_thread_is_bounded_and_the_newest_stays() {
        let mut outer = Outer::default();
        let place = |slot| Place {
            function: 0x1000,
            slot,
        };
        let thread = ThreadId(3);
        for slot in 0..1000 {
            outer.remember(thread, place(slot), StackId(slot as u32));
            assert_eq!(
                outer.callers(thread, place(slot)),
                Some(StackId(slot as u32))
            );
            assert!(outer.callers[&thread].len() <= MOST_PLACES);
        }
        outer.remember(thread, place(999), StackId(7));
        assert_eq!(outer.callers(thread, place(999)), Some(StackId(7)));
        assert_eq!(outer.callers(ThreadId(4), place(999)), None);
        assert_eq!(
            outer.callers(
                thread,
                Place {
                    function: 0x2000,
                    slot: 999
                }
            ),
            None
        );
    }
}
