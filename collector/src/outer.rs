//! The outer frames of stacks that are deeper than the piece copied with their sample.
//!
//! They are read from the thread's memory a moment later ([`crate::beyond`]). Where that is gone or
//! has changed, other samples may tell them ([`crate::deep`]).

use std::cell::Cell;

use unwinder::{AddressSpace, CutReason, Ending, Regs, StackBytes, StackMemory, UnwindCache};

use crate::beyond::{self, Beyond};

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
    /// Where it leaves the copied piece, if it does.
    pub edge: Option<Edge>,
}

/// The outermost frame in the copied piece of a deeper stack.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Edge {
    /// So many frames are in the piece.
    pub inner: usize,
    /// Which one it is; `None` in code of which no bounds are known.
    pub place: Option<Place>,
    /// What speaks for the frames that were read a moment later.
    pub trust: Trust,
}

/// Whether frames that were read a moment after a sample are those of the sample.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Trust {
    /// A return address in the piece was still in its place, and its caller calls that function.
    Proven,
    /// There is none in the piece. Another caller of the function may have been there.
    Likely,
    /// The caller calls another function. Either the return address in the piece is what a function
    /// that has returned left there, and the caller is a later one; or the function that it calls
    /// ended in a jump to this one.
    Doubtful,
}

/// A frame of a thread, whatever its function was doing.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Place {
    /// Where its function begins.
    pub function: u64,
    /// What of it was the first to lie beyond the piece: the slot of its return address, or of a
    /// register that it saved.
    pub slot: u64,
}

/// Unwinds stacks that may be deeper than what was copied of them.
#[derive(Default)]
pub struct Outer {
    beyond: Beyond,
    whole: Vec<u64>,
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
            return Unwound { ending, edge: None };
        };
        let inner = found.len();
        let outermost = found.last().copied().unwrap_or_default();
        let place = space
            .function_at(outermost.wrapping_sub(u64::from(inner > 1)))
            .map(|function| Place { function, slot });
        let is_whole = self.read(space, cache, piece, found);
        let trust = match (&**found, self.whole.get(inner)) {
            ([_], _) => Trust::Likely,
            ([.., outermost], Some(caller)) if is_whole => {
                // A return address behind the function's last call may be the next function's first.
                match space.may_call(*caller, outermost.wrapping_sub(1)) {
                    true => Trust::Proven,
                    false => Trust::Doubtful,
                }
            }
            _ => Trust::Proven,
        };
        if is_whole {
            std::mem::swap(found, &mut self.whole);
        }
        Unwound {
            ending: if is_whole { Ending::Complete } else { ending },
            edge: Some(Edge {
                inner,
                place,
                trust,
            }),
        }
    }

    /// Unwinds a stack of which nothing was copied into `found`, which is empty, from the thread's
    /// memory as it is now. `None` if that may not be read.
    pub fn unwind_now(
        &mut self,
        space: &AddressSpace,
        cache: &mut UnwindCache,
        piece: &Piece<'_>,
        found: &mut Vec<u64>,
    ) -> Option<Ending> {
        let memory = self.beyond.of(piece.pid)?;
        Some(space.unwind(cache, piece.regs, &piece.bytes(&memory), found))
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
}
