//! The tags of a stack's samples, within a frame.
//!
//! Most stacks go with one tag. Those of threads that wait go with many, but often the same two
//! take turns.

use super::coding::{unzigzag, zigzag};

/// Stands for no tag: a table has no room for so many.
const NONE: u32 = u32::MAX;

/// The last two tags that a stack was seen with.
#[derive(Clone, Copy, Debug)]
pub(super) struct Tags {
    last: u32,
    before: u32,
}

impl Tags {
    /// Of a stack that was first seen with this one, in an earlier frame.
    pub(super) fn new(first: Option<u32>) -> Tags {
        Tags {
            last: first.unwrap_or(NONE),
            before: NONE,
        }
    }

    /// 0 is the last tag and 1 the one before; others are stored as 2 more than the difference to
    /// the last one, or to `near` if there is none.
    pub(super) fn store(&mut self, tag: u32, near: u32) -> u64 {
        let expected = self.expected(near);
        let stored = if tag == expected {
            0
        } else if self.before == tag {
            1
        } else {
            zigzag(i64::from(tag) - i64::from(expected)) + 2
        };
        self.see(tag);
        stored
    }

    /// The tag that is stored so; the caller holds it against the table, and says what it is by
    /// [`Tags::see`]. Without a jump: which of them it is cannot be foretold.
    #[inline]
    pub(super) fn load(&self, stored: u64, near: u32) -> u64 {
        let expected = self.expected(near);
        let from = if stored == 1 { self.before } else { expected };
        let more = unzigzag(stored.saturating_sub(2));
        u64::from(from).wrapping_add(more as u64)
    }

    #[inline]
    fn expected(&self, near: u32) -> u32 {
        if self.last == NONE { near } else { self.last }
    }

    #[inline]
    pub(super) fn see(&mut self, tag: u32) {
        let is_same = self.last == tag;
        self.before = if is_same { self.before } else { self.last };
        self.last = tag;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn two_tags_that_take_turns_cost_next_to_nothing() {
        let mut tags = Tags::new(None);
        let stored = [9, 4, 9, 4, 4, 9].map(|tag| tags.store(tag, 9));
        assert_eq!(stored, [0, zigzag(-5) + 2, 1, 1, 0, 1]);
    }

    #[test]
    fn tags_come_back_whatever_they_are() {
        for first in [None, Some(0), Some(NONE - 1)] {
            let (mut there, mut back) = (Tags::new(first), Tags::new(first));
            let mut near = 3;
            for tag in [0, NONE - 1, 0, 0, 1 << 31, NONE - 1, 7, 7, NONE - 1] {
                let stored = there.store(tag, near);
                assert_eq!(back.load(stored, near), u64::from(tag));
                back.see(tag);
                near = tag;
            }
        }
        // No table has it.
        assert_eq!(Tags::new(None).load(1, 5), u64::from(NONE));
    }
}
