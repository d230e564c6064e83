//! Who holds which lock.

use std::ops::Range;

use hashbrown::HashMap;
use race_stream::record::{MUTEX_DECLARED, MUTEX_POSIX};

use crate::lock_order::Lock;
use crate::locksets::Held;
use crate::site::Call;
use crate::strands::StrandId;

/// Whose a lock is: locks of OpenMP are a task's, those of POSIX a thread's.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Owner {
    /// The slot of the thread.
    pub slot: u32,
    /// The task.
    pub task: StrandId,
    /// The region of the task.
    pub region: u64,
}

/// Somebody holds a lock.
#[derive(Clone, Debug)]
pub struct Holder {
    /// Who.
    pub owner: Owner,
    /// The call by which it was taken.
    pub call: Call,
    /// Others may hold it so at the same time.
    pub is_shared: bool,
    /// How often: a recursive mutex of POSIX.
    times: u32,
    /// The task or thread is over: nobody will release the lock.
    pub is_over: bool,
}

/// How a lock was released.
#[derive(Debug)]
pub enum Release {
    /// By its owner.
    Owned,
    /// By another than this one.
    Other(Holder),
    /// Nobody holds it.
    Free,
}

#[derive(Debug, Default)]
struct State {
    holders: Vec<Holder>,
    /// Holders whose release is told after the next one has the lock.
    leaving: Vec<Holder>,
}

/// All locks.
#[derive(Debug, Default)]
pub struct Holders {
    locks: HashMap<Lock, State>,
}

fn is_same(lock: Lock, one: Owner, other: Owner) -> bool {
    match lock.0 {
        MUTEX_POSIX => one.slot == other.slot,
        _ => one.task == other.task,
    }
}

impl Holders {
    /// The lock is taken.
    pub fn acquire(&mut self, held: Held, owner: Owner, call: Call) {
        let state = self.locks.entry(held.lock).or_default();
        let is_its = |holder: &&mut Holder| is_same(held.lock, holder.owner, owner);
        if let Some(own) = state.holders.iter_mut().find(is_its) {
            own.times += 1;
            return;
        }
        if !held.is_shared {
            // A runtime may tell of a release after the next thread has the lock.
            state.leaving.append(&mut state.holders);
        }
        state.holders.push(Holder {
            owner,
            call,
            is_shared: held.is_shared,
            times: 1,
            is_over: false,
        });
    }

    /// It is released.
    pub fn release(&mut self, lock: Lock, owner: Owner) -> Release {
        let Some(state) = self.locks.get_mut(&lock) else {
            return Release::Free;
        };
        let own = |holder: &Holder| is_same(lock, holder.owner, owner);
        let released = if let Some(at) = state.leaving.iter().position(own) {
            state.leaving.remove(at);
            Release::Owned
        } else if let Some(at) = state.holders.iter().position(own) {
            // A nest lock of OpenMP tells of its last release alone.
            let times = &mut state.holders[at].times;
            *times -= 1;
            if *times == 0 || !matches!(lock.0, MUTEX_POSIX | MUTEX_DECLARED) {
                state.holders.remove(at);
            }
            Release::Owned
        } else if !state.leaving.is_empty() {
            Release::Other(state.leaving.remove(0))
        } else if !state.holders.is_empty() {
            Release::Other(state.holders.remove(0))
        } else {
            Release::Free
        };
        if state.holders.is_empty() && state.leaving.is_empty() {
            self.locks.remove(&lock);
        }
        released
    }

    /// Nobody holds what lies there any more.
    pub fn forget(&mut self, addresses: Range<u64>) {
        self.locks.retain(|lock, _| !addresses.contains(&lock.1));
    }

    /// Who holds the lock.
    pub fn of(&self, lock: Lock) -> &[Holder] {
        self.locks.get(&lock).map_or(&[], |state| &state.holders)
    }

    /// How this owner holds the lock.
    pub fn own(&self, lock: Lock, owner: Owner) -> Option<&Holder> {
        let mut holders = self.of(lock).iter();
        holders.find(|holder| is_same(lock, holder.owner, owner))
    }

    /// What this owner holds, by lock.
    pub fn held(&self, owner: Owner) -> Vec<(Held, &Holder)> {
        let mut held: Vec<(Held, &Holder)> = self
            .locks
            .iter()
            .flat_map(|(lock, state)| state.holders.iter().map(|holder| (*lock, holder)))
            .filter(|(lock, holder)| is_same(*lock, holder.owner, owner))
            .map(|(lock, holder)| {
                let is_shared = holder.is_shared;
                (Held { lock, is_shared }, holder)
            })
            .collect();
        held.sort_by_key(|(held, _)| *held);
        held
    }

    /// Owners that are over will not release what they hold. Calls `visit` with each such lock.
    pub fn end(&mut self, is_over: impl Fn(Lock, Owner) -> bool, mut visit: impl FnMut(Lock)) {
        for (lock, state) in &mut self.locks {
            for holder in &mut state.holders {
                if !holder.is_over && is_over(*lock, holder.owner) {
                    holder.is_over = true;
                    visit(*lock);
                }
            }
        }
    }

    /// Everything that is held by owners that are over, by lock.
    pub fn never_released(&self) -> Vec<(Lock, &Holder)> {
        let mut all: Vec<(Lock, &Holder)> = self
            .locks
            .iter()
            .flat_map(|(lock, state)| state.holders.iter().map(|holder| (*lock, holder)))
            .filter(|(_, holder)| holder.is_over)
            .collect();
        all.sort_by_key(|(lock, _)| *lock);
        all
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LOCK: Lock = (1, 8);

    fn owner(number: u32) -> Owner {
        Owner {
            slot: number,
            task: StrandId(number),
            region: 1,
        }
    }

    fn held(lock: Lock) -> Held {
        Held {
            lock,
            is_shared: false,
        }
    }

    #[test]
    fn a_release_that_is_told_late_is_the_owners() {
        let mut holders = Holders::default();
        holders.acquire(held(LOCK), owner(0), Call::default());
        holders.acquire(held(LOCK), owner(1), Call::default());
        assert!(matches!(holders.release(LOCK, owner(0)), Release::Owned));
        assert_eq!(holders.of(LOCK)[0].owner, owner(1));
        assert!(matches!(holders.release(LOCK, owner(1)), Release::Owned));
        assert!(matches!(holders.release(LOCK, owner(1)), Release::Free));
    }

    #[test]
    fn a_release_by_another_is_told_late_too() {
        let mut holders = Holders::default();
        holders.acquire(held(LOCK), owner(0), Call::default());
        // Thread 1 has released it, thread 2 has it, and then thread 1 tells.
        holders.acquire(held(LOCK), owner(2), Call::default());
        match holders.release(LOCK, owner(1)) {
            Release::Other(holder) => assert_eq!(holder.owner, owner(0)),
            other => panic!("{other:?}"),
        }
        assert!(matches!(holders.release(LOCK, owner(2)), Release::Owned));
    }

    #[test]
    fn a_posix_mutex_is_the_threads_and_may_be_recursive() {
        let lock = (MUTEX_POSIX, 8);
        let mut holders = Holders::default();
        holders.acquire(held(lock), owner(0), Call::default());
        let mut other_task = owner(0);
        other_task.task = StrandId(7);
        holders.acquire(held(lock), other_task, Call::default());
        holders.release(lock, owner(0));
        assert!(holders.own(lock, owner(0)).is_some());
        holders.release(lock, owner(0));
        assert!(holders.of(lock).is_empty());
    }

    #[test]
    fn a_declared_lock_is_a_tasks_and_tells_of_each_time() {
        let lock = (MUTEX_DECLARED, 8);
        let mut holders = Holders::default();
        holders.acquire(held(lock), owner(0), Call::default());
        holders.acquire(held(lock), owner(0), Call::default());
        assert!(matches!(holders.release(lock, owner(0)), Release::Owned));
        assert!(holders.own(lock, owner(0)).is_some());
        assert!(matches!(holders.release(lock, owner(1)), Release::Other(_)));
        assert!(matches!(holders.release(lock, owner(0)), Release::Free));
    }

    #[test]
    fn what_an_owner_leaves_is_never_released() {
        let mut holders = Holders::default();
        holders.acquire(held(LOCK), owner(0), Call::default());
        let mut left = Vec::new();
        holders.end(|_, owner| owner.region == 1, |lock| left.push(lock));
        assert_eq!(left, [LOCK]);
        assert_eq!(holders.never_released().len(), 1);
        assert!(matches!(holders.release(LOCK, owner(1)), Release::Other(_)));
        assert!(holders.never_released().is_empty());
    }
}
