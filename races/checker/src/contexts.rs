//! Calling contexts of all threads, as one tree.

use hashbrown::HashMap;

/// The outermost context: the strand's first function was called by a runtime.
pub const OUTERMOST: u32 = 0;

/// The tree of calls.
#[derive(Clone, Debug)]
pub struct Contexts {
    /// The parent of each context, and the return address of the call in it.
    calls: Vec<(u32, u64)>,
    numbers: HashMap<(u32, u64), u32>,
    /// The contexts of each thread, by its own numbers.
    threads: HashMap<u32, Vec<u32>>,
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

/// Most contexts that a thread numbers.
const MOST: usize = 1 << 15;

impl Contexts {
    /// The slot belongs to a new thread.
    pub fn begin_thread(&mut self, slot: u32) {
        self.threads.remove(&slot);
    }

    /// The thread in `slot` numbers a call in one of its contexts. `false`: no thread has so many.
    pub fn define(&mut self, slot: u32, id: u32, parent: u32, code: u64) -> bool {
        let id = id as usize;
        if id >= MOST {
            return false;
        }
        let parent = self.of_thread(slot, parent);
        let new = self.calls.len() as u32;
        let number = *self.numbers.entry((parent, code)).or_insert(new);
        if number == new {
            self.calls.push((parent, code));
        }
        let known = self.threads.entry(slot).or_default();
        if known.len() <= id {
            known.resize(id + 1, OUTERMOST);
        }
        known[id] = number;
        true
    }

    /// The context that the thread in `slot` numbers so.
    pub fn of_thread(&self, slot: u32, id: u32) -> u32 {
        let known = self.threads.get(&slot);
        known
            .and_then(|known| known.get(id as usize))
            .copied()
            .unwrap_or(OUTERMOST)
    }

    /// Whether it is that of the strand's first function.
    pub fn is_first_call(&self, context: u32) -> bool {
        let parent = self.calls.get(context as usize).map(|call| call.0);
        context != OUTERMOST && parent == Some(OUTERMOST)
    }

    /// The return addresses of its calls, innermost first.
    pub fn codes(&self, context: u32) -> Vec<u64> {
        let mut codes = Vec::new();
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
        assert_eq!(contexts.codes(contexts.of_thread(1, 3)), [0x20, 0x10]);
        assert_eq!(contexts.codes(contexts.of_thread(1, 1)), [0x30]);
        assert_eq!(contexts.of_thread(7, 1), OUTERMOST);
        assert!(contexts.is_first_call(contexts.of_thread(1, 2)));
        assert!(!contexts.is_first_call(contexts.of_thread(1, 3)));
        contexts.begin_thread(1);
        assert_eq!(contexts.of_thread(1, 3), OUTERMOST);
    }
}
