//! The reads of unwritten memory: one for each source and object.

use hashbrown::HashMap;

use crate::site::{Place, Site};

/// Reads of memory that nothing has written.
#[derive(Clone, Debug)]
pub struct UnwrittenRead {
    /// An address of the first one.
    pub address: u64,
    /// What memory it is.
    pub place: Place,
    /// Where it is read.
    pub site: Site,
    /// How many: each byte counts once.
    pub count: u64,
}

/// All of them.
#[derive(Debug, Default)]
pub struct UnwrittenReads {
    reads: Vec<UnwrittenRead>,
    numbers: HashMap<(u32, u64), usize>,
    /// Objects of each source, and the number of the last one.
    objects: HashMap<u32, (u32, usize)>,
}

/// Objects that are told apart for one source.
const MOST_OBJECTS: u32 = 32;

impl UnwrittenReads {
    /// Adds a read by `source`. Where it is, is asked for if it is needed.
    pub fn add(&mut self, source: u32, address: u64, place: Place, site: impl Fn() -> Site) {
        let object = match &place {
            Place::Heap(block) => block.address,
            Place::Stack(Some(frame)) => frame.stack,
            _ => address,
        };
        let next = self.reads.len();
        let (objects, last) = self.objects.entry(source).or_default();
        let number = self.numbers.get(&(source, object)).copied();
        // One more of many counts for the last one told apart.
        let number = number.or((*objects == MOST_OBJECTS).then_some(*last));
        if let Some(read) = number.and_then(|number| self.reads.get_mut(number)) {
            read.count += 1;
            return;
        }
        (*objects, *last) = (*objects + 1, next);
        self.numbers.insert((source, object), next);
        self.reads.push(UnwrittenRead {
            address,
            place,
            site: site(),
            count: 1,
        });
    }

    /// In the order in which they were found.
    pub fn all(&self) -> &[UnwrittenRead] {
        &self.reads
    }
}
