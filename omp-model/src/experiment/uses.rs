//! What threads were doing when a stack was first seen: mostly they do the same whenever it is seen
//! again, so that samples store only where they differ from it.
//!
//! Stored once for each stack, before the samples that show it first. So every frame of samples
//! can be unpacked by itself.

use rustc_hash::FxHashMap;

use super::coding::{Corrupt, unzigzag, zigzag};
use super::column::{Decoder, Encoder};
use super::rows::Known;
use crate::ids::{StackId, TagId};
use crate::rows::{Sample, SampleKind};
use crate::tables::{Interner, Stack};

/// What the first sample of a stack showed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Use {
    pub(super) tag: TagId,
    pub(super) kind: SampleKind,
}

/// The first uses of stacks.
#[derive(Clone, Debug, Default)]
pub(super) struct Uses {
    /// By stack.
    rows: Vec<Option<Use>>,
    /// By stack: the tag that one was first seen with whose callers these are.
    callees: Vec<u32>,
}

impl Uses {
    /// What a stack was first seen with.
    #[inline]
    pub(super) fn of(&self, stack: StackId) -> Option<Use> {
        self.rows.get(stack.index()).copied().flatten()
    }

    /// The stacks that samples show for the first time, in the order in which they come.
    pub(super) fn new_in<'s>(&self, samples: impl Iterator<Item = &'s Sample>) -> FirstUses {
        let mut first = FirstUses::default();
        for sample in samples {
            let stack = sample.stack;
            if self.of(stack).is_none() {
                let Sample { tag, kind, .. } = *sample;
                first.seen.entry(stack).or_insert_with(|| {
                    first.stacks.push(stack);
                    Use { tag, kind }
                });
            }
        }
        first
    }

    /// All stacks have a row from now on.
    fn make_room(&mut self, stacks: &Interner<Stack>) {
        if self.rows.len() < stacks.len() {
            self.rows.resize(stacks.len(), None);
            self.callees.resize(stacks.len(), 0);
        }
    }

    /// Adds what was written.
    pub(super) fn add(&mut self, first: &FirstUses, stacks: &Interner<Stack>) {
        if !first.stacks.is_empty() {
            self.make_room(stacks);
        }
        for (stack, seen) in first.rows() {
            self.rows[stack.index()] = Some(seen);
            self.callees[callers(stacks, stack)] = seen.tag.0;
        }
    }

    /// Reads what [`FirstUses::encode`] wrote, and adds it if all of it is right: the stacks, in
    /// the order in which the samples of the next frame show them.
    pub(super) fn decode(
        &mut self,
        decoder: &mut Decoder<'_, '_>,
        known: &Known,
        stacks: &Interner<Stack>,
    ) -> Result<Vec<StackId>, Corrupt> {
        let mut found = Vec::new();
        let decoded = self.decode_into(decoder, (known, stacks), &mut found);
        if decoded.is_err() {
            found
                .iter()
                .for_each(|stack: &StackId| self.rows[stack.index()] = None);
        }
        decoded.map(|()| found)
    }

    fn decode_into(
        &mut self,
        decoder: &mut Decoder<'_, '_>,
        (known, stacks): (&Known, &Interner<Stack>),
        found: &mut Vec<StackId>,
    ) -> Result<(), Corrupt> {
        let rows = decoder.rows()?;
        self.make_room(stacks);
        found.reserve(rows);
        let mut stack = 0_u64;
        for [step, tag, kind] in decoder.table(rows)? {
            stack = stack.wrapping_add(unzigzag(step) as u64);
            let at = known.stack(stack)?;
            let last = &mut self.callees[callers(stacks, at)];
            let tag = u64::from(*last).wrapping_add(unzigzag(tag) as u64);
            let tag = known.tag(tag)?;
            let kind = kind_of(kind)?;
            let row = &mut self.rows[at.index()];
            if row.is_some() {
                return Err(Corrupt("a stack is first seen twice"));
            }
            *row = Some(Use { tag, kind });
            *last = tag.0;
            found.push(at);
        }
        Ok(())
    }
}

fn callers(stacks: &Interner<Stack>, stack: StackId) -> usize {
    stacks.get(stack.0).map_or(0, |row| row.callers.index())
}

/// Stacks that are seen for the first time, in the order in which the samples of the next frame
/// show them.
#[derive(Clone, Debug, Default)]
pub(super) struct FirstUses {
    stacks: Vec<StackId>,
    seen: FxHashMap<StackId, Use>,
}

impl FirstUses {
    pub(super) fn stacks(&self) -> &[StackId] {
        &self.stacks
    }

    pub(super) fn of(&self, stack: StackId) -> Option<Use> {
        self.seen.get(&stack).copied()
    }

    fn rows(&self) -> impl Iterator<Item = (StackId, Use)> + '_ {
        self.stacks.iter().map(|&stack| (stack, self.seen[&stack]))
    }

    /// Appends them: stacks of one place in the code, which share their callers, mostly share
    /// their tag.
    pub(super) fn encode(&self, encoder: &mut Encoder, uses: &Uses, stacks: &Interner<Stack>) {
        let mut expected = Expected::new(uses, stacks);
        let mut before = 0;
        encoder.number(self.stacks.len() as u64);
        encoder.table(self.rows().map(|(stack, seen)| {
            let tag = i64::from(seen.tag.0) - i64::from(expected.next(stack));
            expected.is(stack, seen.tag);
            let step = i64::from(stack.0) - before;
            before = i64::from(stack.0);
            [zigzag(step), zigzag(tag), seen.kind as u64]
        }));
    }
}

/// The kind of sample that a number stands for.
pub(super) fn kind_of(number: u64) -> Result<SampleKind, Corrupt> {
    u8::try_from(number)
        .ok()
        .and_then(SampleKind::from_u8)
        .ok_or(Corrupt("an unknown kind of sample"))
}

/// What tag the next stack is likely to have: that of the last one with the same callers.
struct Expected<'a> {
    uses: &'a Uses,
    stacks: &'a Interner<Stack>,
    /// By callers, of this frame.
    own: FxHashMap<usize, u32>,
}

impl<'a> Expected<'a> {
    fn new(uses: &'a Uses, stacks: &'a Interner<Stack>) -> Expected<'a> {
        Expected {
            uses,
            stacks,
            own: FxHashMap::default(),
        }
    }

    fn next(&self, stack: StackId) -> u32 {
        let callers = callers(self.stacks, stack);
        let earlier = || self.uses.callees.get(callers).copied();
        let own = self.own.get(&callers).copied();
        own.or_else(earlier).unwrap_or(0)
    }

    fn is(&mut self, stack: StackId, tag: TagId) {
        self.own.insert(callers(self.stacks, stack), tag.0);
    }
}
