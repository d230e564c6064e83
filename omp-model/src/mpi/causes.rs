//! What ranks that wait in MPI wait for in the end: which rank, and what it did in which function.

use std::collections::BTreeMap;

use experiment::ids::Nanos;

use super::chains::{follow, links};
use super::critical::{Path, path};
use super::meanwhile::Does;
use super::parts::{Job, Part, Times};
use super::ranks::RankId;
use super::teams::teams;
use super::waits::{Waits, search};

/// The causes of all waits.
#[derive(Clone, Debug, Default)]
pub struct Causes {
    /// The waits.
    pub waits: Waits,
    /// What they are charged to, those with most time first.
    pub parts: Vec<Part>,
    /// By rank and what it did: who waited for that.
    pub charged: BTreeMap<(RankId, Does), Charged>,
    /// The critical path; `None` where ranks have clocks that cannot be compared, or are several jobs, or one rank alone.
    pub path: Option<Path>,
}

/// Waits for one rank that did one thing.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Charged {
    /// Seconds by the rank that waited.
    pub waited: BTreeMap<RankId, f64>,
    /// The chain of the longest of them: the rank that waits, the one that it waits for, and so on to this one.
    pub chain: Vec<RankId>,
    /// How many ranks away the farthest that waited was: 1 if it waited for this one itself.
    pub farthest: usize,
    /// The longest, in nanoseconds.
    longest: u64,
}

impl Charged {
    /// Seconds of all of them.
    pub fn seconds(&self) -> f64 {
        self.waited.values().sum()
    }
}

impl Causes {
    /// Seconds of all waits.
    pub fn seconds(&self) -> f64 {
        self.parts.iter().map(|it| it.seconds).sum()
    }
}

/// The causes of the waits of a job's ranks, and its critical path.
pub fn causes(job: &Job<'_>) -> Causes {
    let search = search(job.experiment, job.ranks);
    let waits = &search.waits.all;
    let mut times = Times::default();
    let mut charged = BTreeMap::<(RankId, Does), Charged>::new();
    let links = links(waits, teams(job.experiment, job.ranks));
    follow(&links, &search.activity, |charge| {
        let [waiter, .., last] = *charge.chain else {
            return;
        };
        let of = |thread| job.ranks.of_thread(thread);
        let rank = of(last);
        times.add(rank, (last, charge.from, charge.to), &charge.did);
        for does in Does::ALL {
            let time = charge.did.time(does);
            if time == 0 {
                continue;
            }
            let charged = charged.entry((rank, does)).or_default();
            let waiter = of(waiter);
            *charged.waited.entry(waiter).or_default() += Nanos(time).seconds();
            let chain = charge.chain.chunk_by(|one, other| of(*one) == of(*other));
            charged.farthest = charged.farthest.max(chain.clone().count() - 1);
            if time > charged.longest {
                charged.longest = time;
                charged.chain = chain.map(|it| of(it[0])).collect();
            }
        }
    });
    let parts = times.parts(job, &search.calls, &links);
    let path = path(job, &search, &links);
    Causes {
        parts,
        charged,
        path,
        waits: search.waits,
    }
}
