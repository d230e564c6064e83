//! Calling contexts of a thread: a tree of calls, whose nodes are numbered as they are met.

use inside::memory::Zeroed;

/// Entries of the table; a power of two.
const SIZE: usize = 1 << 15;

/// Most contexts of a thread. In a deeper or wider tree calls keep the context of their caller.
const MOST: u32 = (SIZE as u32) * 3 / 4;

/// One context: the call at `code` in `parent`. `id` 0: a free entry.
#[derive(Clone, Copy, Debug)]
struct Entry {
    code: u64,
    parent: u32,
    id: u32,
}

/// The contexts that a thread has met.
#[derive(Debug)]
pub(crate) struct Contexts {
    count: u32,
    entries: [Entry; SIZE],
}

// SAFETY: integers only.
#[allow(unsafe_code)]
unsafe impl Zeroed for Contexts {}

/// A context as found.
pub(crate) enum Found {
    /// It was met before.
    Known(u32),
    /// It is new.
    New(u32),
    /// There is no room; the caller's own context stands for it.
    Full,
}

impl Contexts {
    /// The context of a call at `code` in context `parent`.
    #[inline]
    pub(crate) fn find(&mut self, parent: u32, code: u64) -> Found {
        let hash = (code ^ u64::from(parent) << 32).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        let mut at = (hash >> 49) as usize % SIZE;
        loop {
            let Some(entry) = self.entries.get_mut(at) else {
                return Found::Full;
            };
            if entry.id == 0 {
                break;
            }
            if entry.code == code && entry.parent == parent {
                return Found::Known(entry.id);
            }
            at = (at + 1) % SIZE;
        }
        if self.count >= MOST {
            return Found::Full;
        }
        self.count += 1;
        let id = self.count;
        if let Some(entry) = self.entries.get_mut(at) {
            *entry = Entry { code, parent, id };
        }
        Found::New(id)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_call_has_one_context_in_each_caller() {
        let contexts = inside::memory::map_static::<Contexts>().expect("memory");
        let mut id = |parent, code| match contexts.find(parent, code) {
            Found::Known(id) => (id, false),
            Found::New(id) => (id, true),
            Found::Full => panic!("there is room"),
        };
        assert_eq!(id(0, 0x400), (1, true));
        assert_eq!(id(1, 0x400), (2, true));
        assert_eq!(id(0, 0x500), (3, true));
        assert_eq!(id(0, 0x400), (1, false));
        assert_eq!(id(1, 0x400), (2, false));
    }

    #[test]
    fn a_full_table_says_so() {
        let contexts = inside::memory::map_static::<Contexts>().expect("memory");
        for code in 0..u64::from(MOST) {
            assert!(matches!(contexts.find(0, code), Found::New(_)));
        }
        assert!(matches!(contexts.find(0, 1 << 40), Found::Full));
        assert!(matches!(contexts.find(0, 5), Found::Known(6)));
    }
}
