//! Which calls of a runtime's barrier a program's author wrote, as stored.
//!
//! gcc makes one call, `GOMP_barrier`, of the `barrier` directive and of the end of a worksharing
//! construct, and its events do not tell which ([`State::Barrier`]).

use crate::ids::{ContextId, FrameId};
use crate::numbered::numbered;
use crate::state::State;
use crate::symbols::SymbolTable;
use crate::tables::ThreadState;

numbered! {
    /// What a call of the runtime's barrier is to the author.
    pub enum Barrier {
        /// Neither source nor line table tells; shown as implicit, of which there are more.
        Unknown = 0,
        /// The end of a construct.
        Implicit = 1,
        /// A `barrier` directive.
        Explicit = 2,
    }
}

impl SymbolTable {
    /// What is known of the call of a barrier at `call`.
    pub fn barrier(&self, call: FrameId) -> Barrier {
        let found = self.barriers.binary_search_by_key(&call, |row| row.0);
        found.map_or(Barrier::Unknown, |at| self.barriers[at].1)
    }

    /// The state of a thread, where the call tells more than its event: which kind of barrier it
    /// is, and whether a lock was only asked for (LLVM 14 and 16 send the same event for that, and
    /// none when it was refused).
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

    /// Whether the call at an address asks for a lock without waiting for it.
    fn is_attempt(&self, call: FrameId) -> bool {
        let called = self.code_of(call).and_then(|fact| fact.calls.as_deref());
        // A static libgomp has the function under two names.
        called.is_some_and(|name| name.starts_with("omp_test_") || name.starts_with("gomp_test_"))
    }

    /// In how many places there are barriers of which nothing tells what they are.
    pub fn undecided_barriers(&self) -> usize {
        let unknown = |row: &&(FrameId, Barrier)| row.1 == Barrier::Unknown;
        self.barriers.iter().filter(unknown).count()
    }
}
