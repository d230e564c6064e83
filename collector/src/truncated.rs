//! Unwinds the stacks of samples. Where one is truncated, being deeper than the piece copied with
//! the sample, its outer frames are read from the thread's memory a moment later
//! ([`crate::memory`]). Where that is gone or has changed, [`crate::completion`] may complete it.

use std::cell::Cell;

use unwinder::{AddressSpace, CutReason, Ending, Regs, StackBytes, StackMemory, UnwindCache};

use crate::deep::DeepStacks;
use crate::memory::{self, Memories};

/// The registers of a thread, and the piece of its stack that was copied with a sample.
pub struct Piece<'a> {
    /// Its process and its own id.
    pub ids: (i32, i32),
    /// Its registers.
    pub regs: &'a Regs,
    /// The stack from the stack pointer up, as far as it was copied.
    pub stack: &'a [u8],
}

/// An unwound stack.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct UnwoundStack {
    /// How it ended.
    pub ending: Ending,
    /// The outermost copied frame, if the stack is truncated.
    pub edge: Option<Edge>,
}

/// The outermost frame in the copied piece of a truncated stack.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Edge {
    /// The number of frames in the piece.
    pub inner: usize,
    /// Identifies it; `None` in a function without known bounds.
    pub activation: Option<Activation>,
    /// How certain it is that the frames read a moment later are those of the sample.
    pub trust: Trust,
}

/// Whether frames that were read a moment after a sample are those of the sample.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Trust {
    /// A return address in the piece was still in its slot, and its caller calls that function.
    Proven,
    /// The piece has no return address. The function may have had another caller.
    Likely,
    /// The caller calls another function. Either the return address in the piece is what a function
    /// that has returned left there, and the caller is a later one; or the function that it calls
    /// ended in a jump to this one.
    Doubtful,
}

/// An activation of a function on a thread's stack, the same at each of its instructions.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Activation {
    /// Where its function begins.
    pub function: u64,
    /// The first of its slots outside of the piece: that of its return address, or of a register
    /// that it saved.
    pub slot: u64,
}

/// Unwinds stacks that may be truncated.
#[derive(Default)]
pub struct Unwinder {
    memories: Memories,
    whole: Vec<u64>,
    deep: DeepStacks,
}

/// Memory of which nothing can be read. Notes the first address requested.
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

impl Unwinder {
    /// Unwinds a stack into `found`, which is empty, with the frames outside of the piece if they
    /// can still be read.
    pub fn unwind(
        &mut self,
        space: &AddressSpace,
        cache: &mut UnwindCache,
        piece: &Piece<'_>,
        found: &mut Vec<u64>,
    ) -> UnwoundStack {
        let probe = Probe::default();
        let ending = space.unwind(cache, piece.regs, &piece.bytes(&probe), found);
        let (Ending::Cut(CutReason::DumpTooSmall), Some(slot)) = (ending, probe.0.get()) else {
            return UnwoundStack { ending, edge: None };
        };
        let inner = found.len();
        let outermost = found.last().copied().unwrap_or_default();
        let activation = space
            .function_at(outermost.wrapping_sub(u64::from(inner > 1)))
            .map(|function| Activation { function, slot });
        let read = self.read(space, cache, piece, found);
        let is_whole = read == Some(Ending::Complete);
        if read == Some(Ending::Cut(CutReason::TooDeep)) {
            std::mem::swap(found, &mut self.whole);
            return UnwoundStack {
                ending: Ending::Cut(CutReason::TooDeep),
                edge: None,
            };
        }
        let trust = match (&**found, self.whole.get(inner)) {
            ([_], _) => Trust::Likely,
            ([.., outermost], Some(caller)) if is_whole => {
                // The return address of a function's last call may be the start of the next one.
                if space.may_call(*caller, outermost.wrapping_sub(1)) {
                    Trust::Proven
                } else {
                    Trust::Doubtful
                }
            }
            _ => Trust::Proven,
        };
        if is_whole {
            std::mem::swap(found, &mut self.whole);
        }
        UnwoundStack {
            ending: if is_whole { Ending::Complete } else { ending },
            edge: Some(Edge {
                inner,
                activation,
                trust,
            }),
        }
    }

    /// Unwinds a stack of which nothing was copied, from the thread's memory as it is now, into
    /// `found`, which is empty. `None` if that may not be read.
    pub fn unwind_now(
        &mut self,
        space: &AddressSpace,
        cache: &mut UnwindCache,
        piece: &Piece<'_>,
        found: &mut Vec<u64>,
    ) -> Option<Ending> {
        let memory = self.memories.of(piece.ids.0)?;
        Some(space.unwind(cache, piece.regs, &piece.bytes(&memory), found))
    }

    /// The outermost return addresses of a stack that is too deep, inner ones first, from the thread's
    /// memory as it is now, if they can be found.
    pub fn outermost(
        &mut self,
        space: &AddressSpace,
        cache: &mut UnwindCache,
        piece: &Piece<'_>,
    ) -> Option<&[u64]> {
        let memory = self.memories.file(piece.ids.0)?;
        let regs = piece.regs;
        self.deep.outermost((space, cache), piece.ids, regs, memory)
    }

    /// Unwinds from the thread's memory as it is now into `whole`. Returns how that ended if the memory
    /// is unchanged.
    fn read(
        &mut self,
        space: &AddressSpace,
        cache: &mut UnwindCache,
        piece: &Piece<'_>,
        found: &[u64],
    ) -> Option<Ending> {
        let memory = self.memories.of(piece.ids.0)?;
        let bytes = piece.bytes(&memory);
        self.whole.clear();
        if !memory::is_unchanged(&memory, &bytes, found) {
            return None;
        }
        let ending = space.unwind(cache, piece.regs, &bytes, &mut self.whole);
        // With memory that is read page by page up to a limit, a stack of large frames ends there.
        let ending = match ending {
            Ending::Cut(CutReason::DumpTooSmall) if memory.is_spent() => {
                Ending::Cut(CutReason::TooDeep)
            }
            ending => ending,
        };
        let is_possible = match (found, &*self.whole) {
            // The slot of a function that has returned holds anything by now.
            ([leaf], [_, caller, ..]) => space.may_call(*caller, *leaf),
            _ => true,
        };
        is_possible.then_some(ending)
    }
}
