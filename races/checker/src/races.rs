//! The races found: one for each pair of sources and object.

use hashbrown::HashMap;

use crate::comparison::{Conflict, Rank};
use crate::site::{Place, Site};
use crate::strands::Order;

/// A race.
#[derive(Clone, Debug)]
pub struct Race {
    /// Of the clearest instance.
    pub rank: Rank,
    /// An address of it.
    pub address: u64,
    /// What memory it is.
    pub place: Place,
    /// How many pairs of strands.
    pub count: u64,
    /// Its two sides.
    pub sites: [Site; 2],
}

/// All races.
#[derive(Debug, Default)]
pub struct Races {
    races: Vec<Race>,
    numbers: HashMap<([u32; 2], u64), usize>,
    /// Objects of each pair of sources, and the number of the last one's race.
    objects: HashMap<[u32; 2], (u32, usize)>,
}

/// Objects that are told apart for one pair of instructions.
const MOST_OBJECTS: u32 = 32;

impl Race {
    /// No order at all, in some instance.
    pub fn is_certain(&self) -> bool {
        self.rank.order == Order::None
    }
}

impl Races {
    /// Adds an instance. Its sides are asked for if they are needed.
    pub fn add(
        &mut self,
        conflict: &Conflict,
        sources: [u32; 2],
        place: Place,
        sites: impl Fn() -> [Site; 2],
    ) {
        let is_swapped = sources[0] > sources[1];
        let key = if is_swapped {
            [sources[1], sources[0]]
        } else {
            sources
        };
        let object = match &place {
            Place::Heap(block) => block.address,
            _ => conflict.address,
        };
        let rank = conflict.rank();
        let number = self.numbers.get(&(key, object)).copied();
        let number = number.or_else(|| {
            let (objects, last) = self.objects.entry(key).or_default();
            // One more of many counts for the last one told apart.
            if *objects == MOST_OBJECTS {
                return Some(*last);
            }
            *objects += 1;
            *last = self.races.len();
            self.numbers.insert((key, object), *last);
            None
        });
        match number {
            Some(number) => {
                let race = &mut self.races[number];
                race.count += conflict.count;
                if rank < race.rank {
                    race.rank = rank;
                    race.address = conflict.address;
                    race.sites = sites();
                }
            }
            None => self.races.push(Race {
                rank,
                address: conflict.address,
                place,
                count: conflict.count,
                sites: sites(),
            }),
        }
    }

    /// The races, in the order in which they were found.
    pub fn all(&self) -> &[Race] {
        &self.races
    }
}
