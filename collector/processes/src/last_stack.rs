//! The last interned stack. The next one mostly shares its outer frames, whose nodes then need no
//! look-up.

use experiment::ids::StackId;

/// A stack's addresses and nodes, outermost first.
#[derive(Clone)]
pub struct LastStack {
    /// The callers of the outermost frame: the empty stack, or why the stack is truncated.
    outer: StackId,
    /// An address, and the stack from its frame outward.
    nodes: Vec<(u64, StackId)>,
}

impl Default for LastStack {
    fn default() -> Self {
        LastStack {
            outer: StackId::EMPTY,
            nodes: Vec::new(),
        }
    }
}

impl LastStack {
    /// Forgets the stack: from now on the addresses mean other frames.
    pub fn clear(&mut self) {
        self.nodes.clear();
    }

    /// The stack of `addresses`, leaf first, on top of `outer`; `push` makes the node of an address
    /// on its callers where it is not known from the last stack.
    pub fn stack(
        &mut self,
        outer: StackId,
        addresses: &[u64],
        mut push: impl FnMut(StackId, u64) -> StackId,
    ) -> StackId {
        if self.outer != outer {
            self.nodes.clear();
            self.outer = outer;
        }
        let shared = self
            .nodes
            .iter()
            .zip(addresses.iter().rev())
            .take_while(|((known, _), address)| known == *address)
            .count();
        self.nodes.truncate(shared);
        let mut stack = self.nodes.last().map_or(outer, |(_, stack)| *stack);
        for address in addresses.iter().rev().skip(shared) {
            stack = push(stack, *address);
            self.nodes.push((*address, stack));
        }
        stack
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_frames_that_differ_from_the_last_stack_are_interned() {
        let mut last = LastStack::default();
        let mut stack = |outer, addresses: &[u64]| {
            let mut made = Vec::new();
            let stack = last.stack(StackId(outer), addresses, |callers, address| {
                made.push(address);
                // Distinct for each callers and address of this test.
                StackId(callers.0 * 10 + address as u32)
            });
            (stack.0, made)
        };
        assert_eq!(stack(0, &[3, 2, 1]), (123, vec![1, 2, 3]));
        assert_eq!(stack(0, &[4, 2, 1]), (124, vec![4]));
        assert_eq!(stack(0, &[4, 2, 1]), (124, vec![]));
        assert_eq!(stack(0, &[2, 1]), (12, vec![]));
        assert_eq!(stack(0, &[4, 2, 1]), (124, vec![4]));
        assert_eq!(
            stack(5, &[2, 1]),
            (512, vec![1, 2]),
            "cut stacks are others"
        );
        assert_eq!(stack(5, &[]), (5, vec![]));
        assert_eq!(stack(0, &[2, 7]), (72, vec![7, 2]));
    }
}
