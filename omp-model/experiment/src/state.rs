//! What a thread does, as recorded.
//!
//! A recorded [`State`] is what the events alone say. Views refine it by the samples' stacks: work
//! whose leaf lies in the runtime is overhead, and so on. The reader does that (`rewrite`), so that
//! it can improve for old experiments.

use crate::numbered::numbered;

numbered! {
        /// The recorded state of a thread.
    pub enum State {
        /// No OpenMP event has come from this thread yet.
        Outside = 0,
        /// The initial thread outside regions.
        Serial = 1,
        /// User code of a region or explicit task.
        Work = 2,
                /// Inside the runtime by its events: forking, joining.
        Overhead = 3,
        /// Between the reduction callbacks' begin and end.
        Reduction = 4,
        /// A join barrier or the barrier at the end of a worksharing construct.
        ImplicitBarrier = 5,
        /// A `barrier` construct.
        ExplicitBarrier = 6,
        /// The runtime's own barrier, `ompt_sync_region_barrier_implementation`: of a reduction
        /// when called by `__kmpc_reduce*`, else an implicit barrier.
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
                /// A barrier whose event does not say whether it is explicit (`GOMP_barrier`): the
                /// reader
        /// decides by its call ([`crate::symbols::SymbolTable::state_of`]).
        Barrier = 18,
        /// In a function of MPI that does not wait for other ranks.
        Mpi = 19,
        /// In one that waits for a message: receives, probes.
        MpiReceive = 20,
        /// In one that waits until a message is sent.
        MpiSend = 21,
        /// In one that waits for operations that were begun before.
        MpiRequest = 22,
        /// In `MPI_Barrier`.
        MpiBarrier = 23,
        /// In another collective operation.
        MpiCollective = 24,
        /// In one that completes one-sided operations, or waits until memory may be accessed.
        MpiOneSided = 25,
        /// In a call of OpenSHMEM, of coarrays or of UPC's runtime that does not wait for other ranks.
        Pgas = 26,
        /// In one that reads or writes memory of another rank, and waits for that.
        PgasTransfer = 27,
        /// In one that waits until own accesses are complete, or puts them in order.
        PgasQuiet = 28,
        /// In one that waits for a value or an event of another rank.
        PgasFlag = 29,
        /// In one that waits for a lock or a critical section.
        PgasLock = 30,
        /// In a barrier.
        PgasBarrier = 31,
        /// In another collective operation.
        PgasCollective = 32,
    }
}

/// Every state, in the order of its number.
pub const STATES: [State; State::ALL.len()] = State::ALL;

impl State {
    /// Whether all time in this state is OMP Wait, on or off the CPU.
    pub const fn is_wait(self) -> bool {
        !matches!(
            self,
            State::Outside
                | State::Serial
                | State::Work
                | State::Overhead
                | State::Reduction
                | State::Unknown
                | State::Mpi
                | State::Pgas
        )
    }

    /// The state of a thread in the function of this number.
    pub fn in_call(function: u16) -> State {
        let waits = mpi::wait(function);
        match mpi::Interface::of(function) {
            mpi::Interface::Mpi => State::in_mpi(waits),
            _ => State::in_pgas(waits),
        }
    }

    const fn in_pgas(waits: mpi::Wait) -> State {
        match waits {
            mpi::Wait::Transfer => State::PgasTransfer,
            mpi::Wait::Quiet => State::PgasQuiet,
            mpi::Wait::Flag => State::PgasFlag,
            mpi::Wait::Lock => State::PgasLock,
            mpi::Wait::Barrier => State::PgasBarrier,
            mpi::Wait::Collective => State::PgasCollective,
            _ => State::Pgas,
        }
    }

    /// The state of a thread in a function of MPI that waits so.
    pub const fn in_mpi(waits: mpi::Wait) -> State {
        match waits {
            mpi::Wait::Receive => State::MpiReceive,
            mpi::Wait::Send => State::MpiSend,
            mpi::Wait::Request => State::MpiRequest,
            mpi::Wait::Barrier => State::MpiBarrier,
            mpi::Wait::Collective => State::MpiCollective,
            mpi::Wait::OneSided => State::MpiOneSided,
            _ => State::Mpi,
        }
    }

    /// Whether it is that of a thread in a call between ranks, of MPI or of another interface.
    pub const fn is_mpi(self) -> bool {
        matches!(
            self,
            State::Mpi
                | State::MpiReceive
                | State::MpiSend
                | State::MpiRequest
                | State::MpiBarrier
                | State::MpiCollective
                | State::MpiOneSided
                | State::Pgas
                | State::PgasTransfer
                | State::PgasQuiet
                | State::PgasFlag
                | State::PgasLock
                | State::PgasBarrier
                | State::PgasCollective
        )
    }

    /// Whether a thread in this state is in the call into the runtime that its thread state names.
    /// In the others, that is the call by which it entered a critical section.
    pub const fn is_in_call(self) -> bool {
        self.is_wait() && !matches!(self, State::Idle)
            || matches!(
                self,
                State::Overhead | State::Reduction | State::Mpi | State::Pgas
            )
    }
}

numbered! {
        /// The scheduling state of a thread.
    pub enum Scheduling {
        /// On a CPU.
        Running = 0,
        /// Switched out while it wanted to run.
        Preempted = 1,
        /// Switched out waiting for something: asleep.
        Blocked = 2,
                /// On a virtual CPU that the hypervisor had taken away. It is measured by process,
                /// and
        /// spread evenly over its threads' time on CPUs within about a second.
        Stolen = 3,
    }
}

impl Scheduling {
    /// Whether the thread was ready to run but another thread or machine had its CPU.
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
