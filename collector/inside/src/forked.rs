//! The regions that a thread has forked and not joined.

/// Regions are rarely nested this deep.
const DEEPEST: usize = 64;

/// The instance ids of the regions that a thread has forked and not joined, innermost last.
///
/// OMPT passes a tool's word for the region to the callback of its end, too. But LLVM's runtime gives the
/// team back before it calls that: another thread may have forked a region with the same team by then, and
/// have written that region's id into the word.
#[derive(Clone, Copy, Debug)]
pub struct Forked {
    regions: [u64; DEEPEST],
    depth: usize,
}

impl Default for Forked {
    fn default() -> Self {
        Forked {
            regions: [0; DEEPEST],
            depth: 0,
        }
    }
}

impl Forked {
    /// The thread forks a region.
    pub const fn fork(&mut self, region: u64) {
        if self.depth < DEEPEST {
            self.regions[self.depth] = region;
        }
        self.depth += 1;
    }

    /// The thread joins the region that it forked last. Returns that, or `told`, the runtime's answer, if it is
    /// not known.
    pub const fn join(&mut self, told: u64) -> u64 {
        self.depth = self.depth.saturating_sub(1);
        if self.depth < DEEPEST && self.regions[self.depth] != 0 {
            let region = self.regions[self.depth];
            self.regions[self.depth] = 0;
            region
        } else {
            told
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_region_that_was_forked_last_is_joined_first() {
        let mut forked = Forked::default();
        forked.fork(1);
        forked.fork(2);
        assert_eq!(forked.join(7), 2);
        forked.fork(3);
        assert_eq!([forked.join(7), forked.join(7)], [3, 1]);
        // It was forked before anybody looked.
        assert_eq!(forked.join(7), 7);
    }

    #[test]
    fn regions_that_are_nested_too_deep_are_those_that_the_runtime_tells() {
        let mut forked = Forked::default();
        let all = DEEPEST as u64 + 2;
        (1..=all).for_each(|region| forked.fork(region));
        assert_eq!([forked.join(7), forked.join(7)], [7, 7]);
        assert_eq!(forked.join(7), DEEPEST as u64);
    }
}
