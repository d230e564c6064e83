//! Calls and constructs that the OpenMP specification forbids.

use hashbrown::HashMap;

use crate::lock_order::Lock;
use crate::site::Call;

/// What is wrong.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Kind {
    /// A lock is unset by another thread than the one that has set it.
    ReleasedByOther,
    /// A lock is unset that nobody has set.
    ReleasedFree,
    /// A lock is still set when the task that has set it is over.
    NeverReleased,
    /// A task sets a lock, or enters a critical section, that it holds already.
    TakenTwice,
    /// A lock is destroyed while it is set.
    DestroyedHeld,
    /// A lock is used that was not initialised, or was destroyed there.
    NotInitialised,
    /// A lock is initialised that was initialised there.
    InitialisedTwice,
    /// A barrier in a critical section, an ordered region, a single or an explicit task.
    BarrierInside(Inside),
    /// A worksharing construct in one of them.
    WorkInside(Inside),
    /// Threads of a team come to different barriers.
    DifferentBarriers,
    /// Threads of a team come to different worksharing constructs.
    DifferentWork,
    /// A loop has an `ordered` clause, and no iteration came to an ordered region.
    NothingOrdered,
    /// A region in another one asks for this many threads, and gets one.
    NestingRefused(u32),
    /// A task in a region asks for another number of threads, and neither forks a region nor asks for that
    /// number after it.
    ThreadsInside,
    /// A worksharing loop begins here. Whether it changes its own variable, the program's text alone tells.
    LoopBegins,
    /// A region with this outlined function is forked here, whose loops may begin without a call.
    RegionBegins(u64),
}

/// A region in which no barrier and no worksharing construct may be.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Inside {
    /// A critical section.
    Critical,
    /// An ordered region.
    Ordered,
    /// A single.
    Single,
    /// An explicit task.
    Task,
    /// A `master` or `masked` region.
    Masked,
    /// A worksharing loop.
    Loop,
    /// A section.
    Section,
}

/// One misuse.
#[derive(Clone, Debug, PartialEq)]
pub struct Misuse {
    /// What is wrong.
    pub kind: Kind,
    /// The lock that it is about.
    pub lock: Option<Lock>,
    /// Where.
    pub call: Call,
    /// Another place that belongs to it: where the lock was set, the other barrier.
    pub other: Option<Call>,
    /// How often.
    pub count: u64,
}

/// All misuses: one for each kind and place.
#[derive(Debug, Default)]
pub struct Misuses {
    all: Vec<Misuse>,
    numbers: HashMap<(Kind, u64, u64), usize>,
}

impl Kind {
    /// Whether it rests on what no thread has done before: one that was not recorded may have.
    pub fn rests_on_absence(self) -> bool {
        matches!(
            self,
            Kind::ReleasedFree | Kind::NotInitialised | Kind::InitialisedTwice
        )
    }

    /// Whether the program's text tells if it is misuse.
    pub fn rests_on_text(self) -> bool {
        matches!(self, Kind::LoopBegins | Kind::RegionBegins(_))
    }
}

impl Misuses {
    /// Adds an instance.
    pub fn add(&mut self, kind: Kind, lock: Option<Lock>, call: Call, other: Option<Call>) {
        let key = (kind, call.code, other.as_ref().map_or(0, |call| call.code));
        let number = *self.numbers.entry(key).or_insert(self.all.len());
        match self.all.get_mut(number) {
            Some(known) => known.count += 1,
            None => self.all.push(Misuse {
                kind,
                lock,
                call,
                other,
                count: 1,
            }),
        }
    }

    /// In the order in which they were found.
    pub fn all(&self) -> &[Misuse] {
        &self.all
    }
}
