//! The order in which locks are taken: cycles in it are deadlocks that other timing brings about.
//!
//! A strand that holds one lock and wants another is an *edge*. A cycle of edges is a deadlock that is
//! possible if all of them can be there at one time: their strands have no certain order, and no two of
//! them hold a common lock, which would let only one of them go so far.

use std::collections::BTreeSet;
use std::ops::Range;

use hashbrown::{HashMap, HashSet};

use crate::locksets::Held;
use crate::position::Position;
use crate::site::Call;

/// What distinguishes a lock from others: its kind, and its address or number.
pub type Lock = (u8, u64);

/// A strand that holds a lock and wants another one.
#[derive(Clone, Debug)]
pub struct Edge {
    /// The lock that it holds.
    pub holds: Held,
    /// The call by which it took it.
    pub held: Call,
    /// The lock that it wants.
    pub wants: Held,
    /// The call by which it waits.
    pub wanted: Call,
    /// All locks that it holds.
    pub locks: Vec<Held>,
    /// Where it is.
    pub position: Position,
}

impl Edge {
    /// The same locks in the same order by the same code of one strand, in the same interval.
    fn key(&self) -> Key {
        let innermost = self.position.levels.first();
        let strand = innermost.map(|level| (level.point.strand.0, level.phase));
        (
            [self.holds, self.wants],
            [self.held.code, self.wanted.code],
            strand.unwrap_or_default(),
            self.locks.len(),
        )
    }

    /// Whether this edge's strand waits while the other's holds its lock.
    fn waits_for(&self, other: &Edge) -> bool {
        self.wants.lock == other.holds.lock && !(self.wants.is_shared && other.holds.is_shared)
    }

    /// Whether a lock that both hold lets only one of them go so far.
    fn is_excluded_by(&self, other: &Edge) -> bool {
        self.locks.iter().any(|held| {
            other
                .locks
                .iter()
                .any(|its| held.lock == its.lock && !(held.is_shared && its.is_shared))
        })
    }
}

type Key = ([Held; 2], [u64; 2], (u32, u32), usize);

/// Most edges that are kept from one lock to others.
const MOST_EDGES: usize = 256;
/// Most locks of a cycle.
const LONGEST: usize = 8;
/// Edges that are looked at before the search for cycles with a new one is given up.
const MOST_STEPS: usize = 20_000;
/// Most cycles that the same calls make with different locks.
const MOST_ALIKE: u32 = 4;

/// All edges, and the cycles found.
#[derive(Debug, Default)]
pub struct LockOrder {
    /// By the lock that is held.
    edges: HashMap<Lock, Vec<Edge>>,
    known: HashSet<Key>,
    /// Of all locks in edges.
    addresses: BTreeSet<u64>,
    cycles: Vec<Vec<Edge>>,
    sets: HashSet<Vec<Lock>>,
    /// Cycles by the calls that make them.
    alike: HashMap<Vec<[u64; 2]>, u32>,
}

impl LockOrder {
    /// Adds an edge, and finds the cycles that it closes. `coincide` tells whether two places can be
    /// reached at one time.
    pub fn add(&mut self, edge: Edge, coincide: &dyn Fn(&Position, &Position) -> bool) {
        if !self.known.insert(edge.key()) {
            return;
        }
        if self.edges.contains_key(&edge.wants.lock) {
            let mut path = vec![&edge];
            let mut found = Vec::new();
            let mut steps = 0;
            self.search(&mut path, coincide, &mut steps, &mut found);
            for cycle in found {
                self.keep(cycle);
            }
        }
        self.addresses
            .extend([edge.holds.lock.1, edge.wants.lock.1]);
        let edges = self.edges.entry(edge.holds.lock).or_default();
        if edges.len() == MOST_EDGES {
            // The newest ones are those of the current intervals.
            let oldest = edges.remove(0);
            self.known.remove(&oldest.key());
        }
        edges.push(edge);
    }

    fn search<'a>(
        &'a self,
        path: &mut Vec<&'a Edge>,
        coincide: &dyn Fn(&Position, &Position) -> bool,
        steps: &mut usize,
        found: &mut Vec<Vec<Edge>>,
    ) {
        let (Some(first), Some(last)) = (path.first().copied(), path.last().copied()) else {
            return;
        };
        for next in self.edges.get(&last.wants.lock).into_iter().flatten() {
            *steps += 1;
            if *steps > MOST_STEPS {
                return;
            }
            let fits = last.waits_for(next)
                && path.iter().all(|edge| {
                    edge.holds.lock != next.holds.lock
                        && !edge.is_excluded_by(next)
                        && coincide(&edge.position, &next.position)
                });
            if !fits {
                continue;
            }
            path.push(next);
            if next.waits_for(first) {
                found.push(path.iter().map(|edge| (*edge).clone()).collect());
            } else if path.len() < LONGEST {
                self.search(path, coincide, steps, found);
            }
            path.pop();
        }
    }

    fn keep(&mut self, cycle: Vec<Edge>) {
        let mut locks: Vec<Lock> = cycle.iter().map(|edge| edge.holds.lock).collect();
        let mut calls: Vec<[u64; 2]> = cycle
            .iter()
            .map(|edge| [edge.held.code, edge.wanted.code])
            .collect();
        locks.sort_unstable();
        calls.sort_unstable();
        if self.sets.contains(&locks) {
            return;
        }
        let alike = self.alike.entry(calls).or_default();
        *alike += 1;
        if *alike <= MOST_ALIKE {
            self.sets.insert(locks);
            self.cycles.push(cycle);
        }
    }

    /// What lies at these addresses from now on is no lock that was there before.
    pub fn forget(&mut self, addresses: Range<u64>) {
        if self.addresses.range(addresses.clone()).next().is_none() {
            return;
        }
        self.addresses
            .retain(|address| !addresses.contains(address));
        let is_gone = |lock: Lock| addresses.contains(&lock.1);
        let is_any = |edge: &Edge| is_gone(edge.wants.lock);
        self.edges.retain(|lock, edges| {
            edges.retain(|edge| !is_any(edge));
            !is_gone(*lock) && !edges.is_empty()
        });
        self.known
            .retain(|(locks, ..)| !locks.iter().any(|held| is_gone(held.lock)));
    }

    /// The cycles: one for each set of locks. Each edge wants what the next one holds.
    pub fn cycles(&self) -> &[Vec<Edge>] {
        &self.cycles
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lock(number: u64) -> Held {
        Held {
            lock: (1, number),
            is_shared: false,
        }
    }

    /// Thread `slot` holds `held` and wants `wants`.
    fn edge(slot: u32, held: &[u64], wants: u64) -> Edge {
        Edge {
            holds: lock(held[held.len() - 1]),
            held: Call::default(),
            wants: lock(wants),
            wanted: Call::default(),
            locks: held.iter().map(|number| lock(*number)).collect(),
            position: Position {
                slot,
                asked: false,
                levels: Vec::new(),
            },
        }
    }

    /// The locks of each cycle, where threads with different slots can run at one time.
    fn cycles(edges: impl IntoIterator<Item = Edge>) -> Vec<Vec<u64>> {
        let mut order = LockOrder::default();
        for edge in edges {
            order.add(edge, &|one, other| one.slot != other.slot);
        }
        let locks = |cycle: &Vec<Edge>| cycle.iter().map(|edge| edge.holds.lock.1).collect();
        order.cycles().iter().map(locks).collect()
    }

    #[test]
    fn two_threads_that_take_two_locks_in_different_orders_make_a_cycle() {
        assert_eq!(cycles([edge(0, &[1], 2), edge(1, &[2], 1)]), [vec![2, 1]]);
        assert!(cycles([edge(0, &[1], 2), edge(1, &[1], 2)]).is_empty());
        assert!(cycles([edge(0, &[1], 2), edge(0, &[2], 1)]).is_empty());
        // A set of locks is told of once.
        let again = [
            edge(0, &[1], 2),
            edge(1, &[2], 1),
            edge(1, &[1], 2),
            edge(0, &[2], 1),
        ];
        assert_eq!(cycles(again).len(), 1);
    }

    #[test]
    fn a_lock_around_both_prevents_it() {
        assert!(cycles([edge(0, &[9, 1], 2), edge(1, &[9, 2], 1)]).is_empty());
        assert_eq!(cycles([edge(0, &[9, 1], 2), edge(1, &[8, 2], 1)]).len(), 1);
    }

    #[test]
    fn cycles_have_any_length_but_a_thread_once() {
        let three = [edge(0, &[1], 2), edge(1, &[2], 3), edge(2, &[3], 1)];
        assert_eq!(cycles(three), [vec![3, 1, 2]]);
        let two_threads = [edge(0, &[1], 2), edge(1, &[2], 3), edge(1, &[3], 1)];
        assert!(cycles(two_threads).is_empty());
    }

    #[test]
    fn readers_do_not_wait_for_readers() {
        let shared = |mut edge: Edge, holds, wants| {
            edge.holds.is_shared = holds;
            edge.locks[0].is_shared = holds;
            edge.wants.is_shared = wants;
            edge
        };
        let one = |wants| shared(edge(0, &[1], 2), true, wants);
        let other = |wants| shared(edge(1, &[2], 1), true, wants);
        assert!(cycles([one(true), other(true)]).is_empty());
        assert!(cycles([one(true), other(false)]).is_empty());
        assert_eq!(cycles([one(false), other(false)]).len(), 1);
    }

    #[test]
    fn a_lock_that_is_made_anew_is_another_one() {
        let mut order = LockOrder::default();
        let coincide = |one: &Position, other: &Position| one.slot != other.slot;
        order.add(edge(0, &[1], 2), &coincide);
        order.forget(2..3);
        order.add(edge(1, &[2], 1), &coincide);
        assert!(order.cycles().is_empty());
        order.add(edge(0, &[1], 2), &coincide);
        assert_eq!(order.cycles().len(), 1);
    }
}
