//! Thread pools outside of OpenMP, which have no events: OpenBLAS's.
//!
//! OpenBLAS's threads wait for work in one function, spinning or asleep. The thread that gave them
//! work waits for them in another, which compilers may inline into the function that distributes
//! the work and runs the caller's share of it (`driver/others/blas_server.c` of OpenBLAS). All
//! three have symbols in Python's wheels; a stripped library names only the latter two. MKL has no
//! threads besides those of an OpenMP runtime or of TBB.

use crate::states::Pseudo;

/// A pool that waits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Waiting {
    /// The pseudo-function of the pool.
    pub(super) pseudo: Pseudo,
    /// Whether the thread belongs to the pool, rather than waits for the pool.
    pub(super) own: bool,
}

/// A thread that waits for OpenBLAS's threads.
const FOR_OPENBLAS: Waiting = Waiting {
    pseudo: Pseudo::OpenBlasIdle,
    own: false,
};

/// The functions that pools wait in.
const POOLS: [(&str, Waiting); 3] = [
    (
        "blas_thread_server",
        Waiting {
            pseudo: Pseudo::OpenBlasIdle,
            own: true,
        },
    ),
    ("exec_blas_async_wait", FOR_OPENBLAS),
    // Apart from waiting, it spends time only in calls into its library or an OpenMP runtime.
    ("exec_blas", FOR_OPENBLAS),
];

/// The pool that waits in a function of this linkage name.
pub(super) fn of_function(linkage: &str) -> Option<Waiting> {
    let found = POOLS.iter().find(|(name, _)| *name == linkage);
    found.map(|&(_, waiting)| waiting)
}

#[cfg(test)]
mod tests {
    use crate::profile::{Callee, PathId};
    use crate::rewrite::Rewriter;
    use crate::rewrite::test_program::TestProgram;
    use crate::states::{Pseudo, RefinedState};
    use experiment::ids::ContextId;
    use experiment::state::State;
    use experiment::tables::ThreadKind;

    #[test]
    fn threads_of_openblas_wait_where_they_do_not_compute() {
        let mut program = TestProgram::new();
        let start = "start_thread clone3";
        let stacks = [
            format!("L:blas_thread_server {start}"),
            format!("futex_wait L:blas_thread_server {start}"),
            format!("L:dgemm_kernel L:exec_threads L:blas_thread_server {start}"),
            "sched_yield L:exec_blas_async_wait L:dgemm_ main _start".to_owned(),
            "L:exec_blas L:gemm_thread_m L:dgemm_ main _start".to_owned(),
            "L:inner_thread L:exec_blas L:dgemm_ main _start".to_owned(),
            "futex_wait R:GOMP_parallel L:exec_blas L:dgemm_ main _start".to_owned(),
        ];
        let samples = stacks.map(|stack| {
            let state = (State::Outside, ContextId::ROOT);
            program.sample(&stack, state, ThreadKind::Other)
        });
        let mut rewriter = Rewriter::new(&program.tables, &program.symbols, samples);
        let idle = Callee::Pseudo(Pseudo::OpenBlasIdle);
        let rewritten = samples.map(|sample| {
            let (path, state) = rewriter.user(sample);
            let row = rewriter.paths().get(path.0).expect("the path is made");
            let alone = row.callers == PathId::EMPTY;
            (state, row.frame.callee == idle, alone)
        });
        assert_eq!(
            rewritten,
            [
                (RefinedState::Idle, true, true),
                (RefinedState::Idle, true, true),
                (RefinedState::Serial, false, false),
                (RefinedState::Idle, true, false),
                (RefinedState::Idle, true, false),
                (RefinedState::Serial, false, false),
                (RefinedState::ImplicitBarrier, false, false),
            ]
        );
    }
}
