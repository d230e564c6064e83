//! Calling contexts of all threads, as one tree.

use hashbrown::HashMap;
use race_stream::record::{IS_STACK, MOST_CONTEXTS as MOST};

/// The outermost context: the strand's first function was called by a runtime.
pub const OUTERMOST: u32 = 0;

/// The tree of calls.
#[derive(Clone, Debug)]
pub struct Contexts {
    /// The parent of each context, and the return address of the call in it.
    calls: Vec<(u32, u64)>,
    numbers: HashMap<(u32, u64), u32>,
    /// The contexts of each thread, by its own numbers.
    threads: HashMap<u32, OfThread>,
}

/// The contexts that a thread has numbered: by calls that it was told of, and by its stack.
#[derive(Clone, Debug, Default)]
struct OfThread {
    calls: Vec<u32>,
    stacks: Vec<u32>,
}

impl OfThread {
    /// Where the context stands that the thread numbers so.
    fn place(&mut self, id: u32) -> Option<&mut u32> {
        let (list, at) = match id & IS_STACK {
            0 => (&mut self.calls, id as usize),
            _ => (&mut self.stacks, (id & !IS_STACK) as usize),
        };
        if at >= MOST {
            return None;
        }
        if list.len() <= at {
            list.resize(at + 1, OUTERMOST);
        }
        list.get_mut(at)
    }

    fn get(&self, id: u32) -> Option<u32> {
        let (list, at) = match id & IS_STACK {
            0 => (&self.calls, id),
            _ => (&self.stacks, id & !IS_STACK),
        };
        list.get(at as usize).copied()
    }
}

impl Default for Contexts {
    fn default() -> Self {
        Contexts {
            calls: vec![(OUTERMOST, 0)],
            numbers: HashMap::new(),
            threads: HashMap::new(),
        }
    }
}

impl Contexts {
    /// The slot belongs to a new thread.
    pub fn begin_thread(&mut self, slot: u32) {
        self.threads.remove(&slot);
    }

    /// The thread in `slot` numbers a call in one of its contexts. `false`: no thread has so many.
    pub fn define(&mut self, slot: u32, id: u32, parent: u32, code: u64) -> bool {
        let parent = self.of_thread(slot, parent);
        let number = self.call(parent, code);
        self.number(slot, id, number)
    }

    /// It numbers the context of calls that return to these addresses, innermost first, as its stack has
    /// them.
    pub fn define_stack(&mut self, slot: u32, id: u32, codes: &[u64]) -> bool {
        let codes = codes.iter().rev();
        let number = codes.fold(OUTERMOST, |parent, code| self.call(parent, *code));
        self.number(slot, id, number)
    }

    /// The context of a call in another one.
    fn call(&mut self, parent: u32, code: u64) -> u32 {
        let new = self.calls.len() as u32;
        let number = *self.numbers.entry((parent, code)).or_insert(new);
        if number == new {
            self.calls.push((parent, code));
        }
        number
    }

    fn number(&mut self, slot: u32, id: u32, number: u32) -> bool {
        let place = self.threads.entry(slot).or_default().place(id);
        place.map(|place| *place = number).is_some()
    }

    /// The context that the thread in `slot` numbers so.
    pub fn of_thread(&self, slot: u32, id: u32) -> u32 {
        let known = self.threads.get(&slot);
        known.and_then(|known| known.get(id)).unwrap_or(OUTERMOST)
    }

    /// Whether it is that of the strand's first function.
    pub fn is_first_call(&self, context: u32) -> bool {
        let parent = self.calls.get(context as usize).map(|call| call.0);
        context != OUTERMOST && parent == Some(OUTERMOST)
    }

    /// The return addresses of a call in a context and of the calls around it, innermost first.
    pub fn codes(&self, code: u64, context: u32) -> Vec<u64> {
        let mut codes = vec![code];
        let mut next = context;
        while next != OUTERMOST {
            let (parent, code) = self.calls[next as usize];
            codes.push(code);
            next = parent;
        }
        codes
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn threads_share_contexts() {
        let mut contexts = Contexts::default();
        contexts.define(0, 1, 0, 0x10);
        contexts.define(0, 2, 1, 0x20);
        contexts.define(1, 1, 0, 0x30);
        contexts.define(1, 2, 0, 0x10);
        contexts.define(1, 3, 2, 0x20);
        assert_eq!(contexts.of_thread(0, 2), contexts.of_thread(1, 3));
        assert_eq!(contexts.codes(7, contexts.of_thread(1, 3)), [7, 0x20, 0x10]);
        assert_eq!(contexts.codes(7, contexts.of_thread(1, 1)), [7, 0x30]);
        assert_eq!(contexts.of_thread(7, 1), OUTERMOST);
        assert!(contexts.is_first_call(contexts.of_thread(1, 2)));
        assert!(!contexts.is_first_call(contexts.of_thread(1, 3)));
        contexts.define_stack(1, IS_STACK | 1, &[0x20, 0x10]);
        assert_eq!(
            contexts.of_thread(1, IS_STACK | 1),
            contexts.of_thread(1, 3)
        );
        assert!(!contexts.define_stack(1, u32::MAX, &[0x20]));
        contexts.begin_thread(1);
        assert_eq!(contexts.of_thread(1, 3), OUTERMOST);
    }
}
