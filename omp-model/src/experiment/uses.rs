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

    /// The stacks that samples show for the first time, by their numbers.
    pub(super) fn new_in(&self, samples: &[Sample]) -> FirstUses {
        let mut found = FxHashMap::default();
        for sample in samples {
            if self.of(sample.stack).is_none() {
                let Sample { tag, kind, .. } = *sample;
                found.entry(sample.stack).or_insert(Use { tag, kind });
            }
        }
        let mut rows: Vec<(StackId, Use)> = found.into_iter().collect();
        rows.sort_unstable_by_key(|&(stack, _)| stack);
        FirstUses(rows)
    }

    /// All stacks have a row from now on.
    fn make_room(&mut self, stacks: &Interner<Stack>) {
        if self.rows.len() < stacks.len() {
            self.rows.resize(stacks.len(), None);
            self.callees.resize(stacks.len(), 0);
        }
    }

    /// Adds what was written or read.
    pub(super) fn add(&mut self, first: &FirstUses, stacks: &Interner<Stack>) {
        for &(stack, seen) in &first.0 {
            let callers = callers(stacks, stack);
            let last = stack.index().max(callers);
            if self.rows.len() <= last {
                self.rows.resize(last + 1, None);
                self.callees.resize(last + 1, 0);
            }
            self.rows[stack.index()] = Some(seen);
            self.callees[callers] = seen.tag.0;
        }
    }
}

fn callers(stacks: &Interner<Stack>, stack: StackId) -> usize {
    stacks.get(stack.0).map_or(0, |row| row.callers.index())
}

/// Stacks that are seen for the first time, by their numbers.
#[derive(Clone, Debug, Default)]
pub(super) struct FirstUses(Vec<(StackId, Use)>);

impl FirstUses {
    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub(super) fn of(&self, stack: StackId) -> Option<Use> {
        let at = self.0.binary_search_by_key(&stack, |&(known, _)| known);
        at.ok().map(|at| self.0[at].1)
    }

    /// Appends them: stacks of one place in the code, which share their callers, mostly share
    /// their tag.
    pub(super) fn encode(&self, encoder: &mut Encoder, uses: &Uses, stacks: &Interner<Stack>) {
        let mut expected = Expected::new(uses, stacks);
        let mut before = 0;
        encoder.number(self.0.len() as u64);
        encoder.table(self.0.iter().map(|&(stack, seen)| {
            let tag = i64::from(seen.tag.0) - i64::from(expected.next(stack));
            expected.is(stack, seen.tag);
            let step = u64::from(stack.0) - before;
            before = u64::from(stack.0);
            [step, zigzag(tag), seen.kind as u64]
        }));
    }

    /// Reads what [`FirstUses::encode`] wrote. What was expected of the callers' next stacks is
    /// noted in passing; the uses themselves are added when all of them are right.
    pub(super) fn decode(
        decoder: &mut Decoder<'_, '_>,
        known: &Known,
        (uses, stacks): (&mut Uses, &Interner<Stack>),
    ) -> Result<FirstUses, Corrupt> {
        let rows = decoder.rows()?;
        uses.make_room(stacks);
        let mut found = Vec::with_capacity(rows);
        let mut stack = 0_u64;
        for [step, tag, kind] in decoder.table(rows)? {
            stack = stack.wrapping_add(step);
            let at = known.stack(stack)?;
            let last = &mut uses.callees[callers(stacks, at)];
            let tag = u64::from(*last).wrapping_add(unzigzag(tag) as u64);
            let tag = known.tag(tag)?;
            *last = tag.0;
            let kind = kind_of(kind)?;
            found.push((at, Use { tag, kind }));
        }
        if found.windows(2).any(|pair| pair[0].0 >= pair[1].0) {
            return Err(Corrupt("a stack is first seen twice"));
        }
        Ok(FirstUses(found))
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
