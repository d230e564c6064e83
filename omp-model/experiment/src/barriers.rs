//! Which calls of a runtime's barrier a program's author wrote, as stored.
//!
//! gcc compiles the `barrier` directive and the end of a worksharing construct to the same call,
//! `GOMP_barrier`, whose events do not tell which it is ([`State::Barrier`]).

use crate::ids::{ContextId, FrameId};
use crate::state::State;
use crate::symbols::{Barrier, SymbolTable};
use crate::tables::ThreadState;

impl SymbolTable {
    /// The kind of barrier that the call at `call` enters.
    pub fn barrier(&self, call: FrameId) -> Barrier {
        let found = self.barriers.binary_search_by_key(&call, |row| row.0);
        found.map_or(Barrier::Unknown, |at| self.barriers[at].1)
    }

    /// The thread's state, refined by the call where the event does not say enough: which kind of
    /// barrier it is, and whether a lock was only tried (LLVM 14 and 16 send the same event for
    /// that, and none when the lock was held).
    pub fn state_of(&self, thread_state: ThreadState) -> State {
        match thread_state.state {
            State::Barrier => match self.barrier(thread_state.call) {
                Barrier::Explicit => State::ExplicitBarrier,
                Barrier::Implicit | Barrier::Unknown => State::ImplicitBarrier,
            },
            State::Lock | State::NestLock if self.is_attempt(thread_state.call) => {
                match thread_state.context {
                    ContextId::ROOT => State::Serial,
                    _ => State::Work,
                }
            }
            other => other,
        }
    }

    /// Whether the call tries to set a lock without waiting for it.
    fn is_attempt(&self, call: FrameId) -> bool {
        let called = self.code_of(call).and_then(|fact| fact.calls.as_deref());
        // A static libgomp has the function under two names.
        called.is_some_and(|name| name.starts_with("omp_test_") || name.starts_with("gomp_test_"))
    }

    /// The number of calls whose kind of barrier is unknown.
    pub fn undecided_barriers(&self) -> usize {
        let unknown = |row: &&(FrameId, Barrier)| row.1 == Barrier::Unknown;
        self.barriers.iter().filter(unknown).count()
    }
}
