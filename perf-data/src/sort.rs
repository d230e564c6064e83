//! Puts records into the order of their times.
//!
//! perf copies the rings of all CPUs in rounds. A record is in its ring a little after its time, so what a round
//! brings is not earlier than what the round before the last one brought: at the end of each round all records up
//! to the latest time of the round before are in order.

use crate::file::Record;

/// The most bytes that are held. Beyond, the earlier half of them goes on: a record that comes later and is
/// earlier still counts as late.
const MOST: usize = 256 << 20;

/// Records that wait for earlier ones.
#[derive(Default)]
pub(crate) struct Sorter {
    held: Vec<Held>,
    bytes: usize,
    /// The latest time of the rounds before this one, and of all.
    before: u64,
    latest: u64,
}

pub(crate) struct Held {
    pub(crate) time: u64,
    /// The number of its event.
    pub(crate) event: usize,
    pub(crate) record: Record,
}

impl Held {
    fn bytes(&self) -> usize {
        self.record.body.len() + size_of::<Held>()
    }
}

impl Sorter {
    /// Adds a record. Returns records that are due.
    pub(crate) fn add(&mut self, held: Held) -> Vec<Held> {
        self.latest = self.latest.max(held.time);
        self.bytes += held.bytes();
        self.held.push(held);
        if self.bytes < MOST {
            return Vec::new();
        }
        let mut times: Vec<u64> = self.held.iter().map(|held| held.time).collect();
        let middle = times.len() / 2;
        let (_, middle, _) = times.select_nth_unstable(middle);
        self.due(*middle)
    }

    /// A round ends. Returns the records that are due.
    pub(crate) fn round(&mut self) -> Vec<Held> {
        let until = std::mem::replace(&mut self.before, self.latest);
        self.due(until)
    }

    /// All that is left.
    pub(crate) fn end(&mut self) -> Vec<Held> {
        self.due(u64::MAX)
    }

    fn due(&mut self, until: u64) -> Vec<Held> {
        let is_due = |held: &mut Held| held.time <= until;
        let mut due: Vec<Held> = self.held.extract_if(.., is_due).collect();
        self.bytes -= due.iter().map(Held::bytes).sum::<usize>();
        due.sort_by_key(|held| held.time);
        due
    }
}
