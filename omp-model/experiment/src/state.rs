//! What a thread does, as recorded.
//!
//! A recorded [`State`] is what the events alone say. What a view shows can be finer: a sample
//! whose leaf lies in the runtime turns work into overhead, and so on; that refinement is the
//! reader's (`rewrite`), so that it can improve for old experiments.

use crate::numbered::numbered;

numbered! {
    /// The recorded state of a thread at a moment.
    pub enum State {
        /// No OpenMP event has come from this thread yet.
        Outside = 0,
        /// The initial thread outside regions.
        Serial = 1,
        /// User code of a region or explicit task.
        Work = 2,
        /// Inside the runtime by the events' word: forking, joining.
        Overhead = 3,
        /// Between the reduction callbacks' begin and end.
        Reduction = 4,
        /// A join barrier or the barrier at the end of a worksharing construct.
        ImplicitBarrier = 5,
        /// A `barrier` construct.
        ExplicitBarrier = 6,
        /// The runtime's own barrier, `ompt_sync_region_barrier_implementation`: of a reduction when
        /// called by `__kmpc_reduce*`, else an implicit barrier.
        ImplementationBarrier = 7,
        /// A worker between regions.
        Idle = 8,
        /// Waiting for a lock.
        Lock = 9,
        /// Waiting for a nestable lock.
        NestLock = 10,
        /// Waiting to enter a critical section.
        Critical = 11,
        /// Waiting in `ordered`.
        Ordered = 12,
        /// Waiting in an atomic that is built on a lock.
        Atomic = 13,
        /// In a `taskwait` construct.
        TaskWait = 14,
        /// At the end of a `taskgroup` (and of `taskloop`).
        TaskGroup = 15,
        /// In the barrier at the end of a `teams` region.
        TeamsBarrier = 16,
        /// Records of this thread were lost: only its samples' stacks can tell.
        Unknown = 17,
        /// A barrier whose event does not say whether it is explicit (`GOMP_barrier`): the reader
        /// decides by its place ([`crate::symbols::SymbolTable::state_of`]).
        Barrier = 18,
    }
}

/// Every state, in the order of its number.
pub const STATES: [State; State::ALL.len()] = State::ALL;

impl State {
    /// Whether the thread cannot go on: all of this time is OMP Wait, on or off the CPU.
    pub const fn is_wait(self) -> bool {
        !matches!(
            self,
            State::Outside
                | State::Serial
                | State::Work
                | State::Overhead
                | State::Reduction
                | State::Unknown
        )
    }
}

numbered! {
    /// Where the kernel had the thread.
    pub enum Scheduling {
        /// On a CPU.
        Running = 0,
        /// Switched out while it wanted to run.
        Preempted = 1,
        /// Switched out waiting for something: asleep.
        Blocked = 2,
        /// On a CPU by the guest's reckoning, which a hypervisor had taken away: known of a
        /// process, and spread evenly over the time on CPUs of its threads in about a second.
        Stolen = 3,
    }
}

impl Scheduling {
    /// Ready to run, and without a CPU: another thread or another machine had it.
    pub const fn wants_cpu(self) -> bool {
        matches!(self, Scheduling::Preempted | Scheduling::Stolen)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_state_stands_at_its_number() {
        for (number, state) in STATES.iter().enumerate() {
            assert_eq!(*state as usize, number);
            assert_eq!(State::from_u8(number as u8), Some(*state));
        }
        assert_eq!(State::from_u8(STATES.len() as u8), None);
    }
}
