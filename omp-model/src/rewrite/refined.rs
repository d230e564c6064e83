//! What the thread did: the recorded state, refined by the leaf of the stack.

use experiment::state::State;
use experiment::tables::ThreadKind;

use super::walk::Leaf;
use crate::states::RefinedState;

/// A pattern for names of runtime entry points.
enum EntryPoint {
    Is(&'static str),
    Starts(&'static str),
    Ends(&'static str),
}

/// The runtimes' entry points, and the state of a thread in them if only its stack is known. The
/// first match applies; any other entry point is overhead. (`kmp.h` of LLVM, `libgomp.map` of GCC.)
const ENTRIES: [(EntryPoint, RefinedState); 26] = [
    (EntryPoint::Ends("doacross_wait"), RefinedState::Ordered),
    (
        EntryPoint::Is("GOMP_doacross_ull_wait"),
        RefinedState::Ordered,
    ),
    (EntryPoint::Is("__kmpc_ordered"), RefinedState::Ordered),
    (EntryPoint::Is("GOMP_ordered_start"), RefinedState::Ordered),
    (EntryPoint::Starts("__kmpc_reduce"), RefinedState::Reduction),
    (
        EntryPoint::Starts("__kmpc_end_reduce"),
        RefinedState::Reduction,
    ),
    (
        EntryPoint::Starts("__kmpc_critical"),
        RefinedState::Critical,
    ),
    (
        EntryPoint::Starts("GOMP_critical_start"),
        RefinedState::Critical,
    ),
    (
        EntryPoint::Starts("GOMP_critical_name_start"),
        RefinedState::Critical,
    ),
    (EntryPoint::Starts("__kmpc_set_"), RefinedState::Lock),
    (EntryPoint::Starts("omp_set_lock"), RefinedState::Lock),
    (EntryPoint::Starts("omp_set_nest_lock"), RefinedState::Lock),
    // The same functions in a static libgomp.
    (EntryPoint::Starts("gomp_set_lock"), RefinedState::Lock),
    (EntryPoint::Starts("gomp_set_nest_lock"), RefinedState::Lock),
    (EntryPoint::Starts("__kmpc_atomic_"), RefinedState::Atomic),
    (EntryPoint::Is("GOMP_atomic_start"), RefinedState::Atomic),
    (
        EntryPoint::Starts("__kmpc_omp_taskwait"),
        RefinedState::Task,
    ),
    (
        EntryPoint::Starts("__kmpc_omp_wait_deps"),
        RefinedState::Task,
    ),
    (EntryPoint::Is("__kmpc_end_taskgroup"), RefinedState::Task),
    (EntryPoint::Starts("GOMP_taskwait"), RefinedState::Task),
    (EntryPoint::Is("GOMP_taskgroup_end"), RefinedState::Task),
    // Nearly all time in it is waiting for the team at the region's end.
    (
        EntryPoint::Starts("__kmpc_fork_"),
        RefinedState::ImplicitBarrier,
    ),
    (
        EntryPoint::Starts("GOMP_parallel"),
        RefinedState::ImplicitBarrier,
    ),
    // Explicit barriers cannot be distinguished from those of worksharing constructs, which are
    // more frequent.
    (
        EntryPoint::Starts("__kmpc_barrier"),
        RefinedState::ImplicitBarrier,
    ),
    (
        EntryPoint::Starts("__kmpc_cancel_barrier"),
        RefinedState::ImplicitBarrier,
    ),
    (
        EntryPoint::Starts("GOMP_barrier"),
        RefinedState::ImplicitBarrier,
    ),
];

fn of_entry(name: &str) -> RefinedState {
    let fits = |entry: &EntryPoint| match *entry {
        EntryPoint::Is(whole) => name == whole,
        EntryPoint::Starts(start) => name.starts_with(start),
        EntryPoint::Ends(end) => name.ends_with(end),
    };
    let known = ENTRIES.iter().find(|(entry, _)| fits(entry));
    known.map_or(RefinedState::Overhead, |&(_, state)| state)
}

/// Whether an entry point counts as the program's own work: reading the clock, like reading any
/// other clock, and a flush. A thread that waits by calling them spins in its own code.
fn is_own(entry: Option<&str>) -> bool {
    entry.is_some_and(|name| {
        let clock = name.trim_end_matches('_');
        let clocks = [
            "omp_get_wtime",
            "omp_get_wtick",
            "MPI_Wtime",
            "PMPI_Wtime",
            "MPI_Wtick",
        ];
        clocks.contains(&clock) || matches!(clock, "mpi_wtime" | "mpi_wtick") || name == FLUSH
    })
}

fn is_mpi(entry: Option<&str>) -> bool {
    entry.is_some_and(|name| name.starts_with("MPI_") || name.starts_with("PMPI_"))
}

fn is_pgas(entry: Option<&str>) -> bool {
    let starts = ["shmem_", "pshmem_", "_gfortran_caf_"];
    entry.is_some_and(|name| starts.iter().any(|start| name.starts_with(start)))
}

/// clang's call for the `flush` directive; gcc emits an instruction.
const FLUSH: &str = "__kmpc_flush";

fn is_reduction(entry: Option<&str>) -> bool {
    entry.is_some_and(|name| of_entry(name) == RefinedState::Reduction)
}

/// The state by the stack alone: records were lost, or no tool could be loaded.
fn by_stack(thread: ThreadKind, leaf: &Leaf, entry: Option<&str>) -> RefinedState {
    match entry {
        _ if !leaf.runtime || is_own(entry) => match thread {
            ThreadKind::Worker => RefinedState::Work,
            _ if leaf.inside => RefinedState::Work,
            _ => RefinedState::Serial,
        },
        _ if is_pgas(entry) => RefinedState::Pgas,
        _ if leaf.in_mpi => RefinedState::Mpi,
        _ if leaf.reducing => RefinedState::Reduction,
        Some(name) => of_entry(name),
        // A worker with no frames but the runtime's and its first functions.
        None if leaf.bare => RefinedState::Idle,
        None => RefinedState::Overhead,
    }
}

/// Facts from the whole experiment that refine a sample's state.
#[derive(Clone, Copy, Debug)]
pub(super) struct Clues {
    /// The experiment has OpenMP events, so a thread without any has not reached OpenMP yet.
    pub(super) eventful: bool,
    /// The critical section at the sample's call site was generated by a compiler for a reduction.
    pub(super) combining: bool,
}

/// What the thread did. `entry` is the name of the entry point that the leaf's construct was
/// entered by.
pub(super) fn refine(
    state: State,
    thread: ThreadKind,
    leaf: &Leaf,
    entry: Option<&str>,
    clues: Clues,
) -> RefinedState {
    let Clues {
        eventful,
        combining,
    } = clues;
    let working = |state: RefinedState| match entry {
        _ if leaf.reducing || combining => RefinedState::Reduction,
        _ if !leaf.runtime || is_own(entry) => state,
        _ if is_pgas(entry) => RefinedState::Pgas,
        // In a function of MPI that has no events, or in ours in its place.
        _ if leaf.in_mpi || is_mpi(entry) => RefinedState::Mpi,
        Some(name) if of_entry(name) == RefinedState::Reduction => RefinedState::Reduction,
        // Waits for iterations have no event.
        Some(name) if name.contains("doacross") && of_entry(name) == RefinedState::Ordered => {
            RefinedState::Ordered
        }
        _ => RefinedState::Overhead,
    };
    match state {
        // Waits of a pool have no event.
        State::Outside | State::Serial | State::Work | State::Unknown if leaf.pool.is_some() => {
            RefinedState::Idle
        }
        State::Outside if eventful && matches!(thread, ThreadKind::Worker | ThreadKind::Other) => {
            RefinedState::Idle
        }
        // A thread without events may belong to a runtime that sends none.
        State::Outside if eventful && thread != ThreadKind::Outside => {
            working(RefinedState::Serial)
        }
        State::Outside | State::Unknown => by_stack(thread, leaf, entry),
        State::Serial => working(RefinedState::Serial),
        State::Work => working(RefinedState::Work),
        State::ImplementationBarrier if is_reduction(entry) || leaf.reducing => {
            RefinedState::Reduction
        }
        // A reduction by a compiler-generated critical section.
        State::Critical if combining || is_reduction(entry) => RefinedState::Reduction,
        known => RefinedState::of(known).unwrap_or_else(|| by_stack(thread, leaf, entry)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_clock_is_the_program_s_own_time_and_other_queries_are_overhead() {
        let leaf = Leaf {
            runtime: true,
            ..Leaf::default()
        };
        let clues = Clues {
            eventful: true,
            combining: false,
        };
        let state = |state, entry| refine(state, ThreadKind::Worker, &leaf, Some(entry), clues);
        for clock in [
            "omp_get_wtime",
            "omp_get_wtime_",
            "omp_get_wtick",
            "PMPI_Wtime",
            "mpi_wtime_",
        ] {
            assert_eq!(state(State::Work, clock), RefinedState::Work);
            assert_eq!(state(State::Serial, clock), RefinedState::Serial);
            assert_eq!(state(State::Lock, clock), RefinedState::Lock);
        }
        assert_eq!(
            state(State::Work, "omp_get_thread_num"),
            RefinedState::Overhead
        );
        assert_eq!(state(State::Unknown, "omp_get_wtime"), RefinedState::Work);
        assert_eq!(state(State::Work, FLUSH), RefinedState::Work);
    }
}
