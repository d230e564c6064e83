//! What the thread did: the recorded state, refined by the leaf of the stack.

use experiment::state::State;
use experiment::tables::ThreadKind;

use crate::profile::{Pseudo, Shown};

use super::walk::Leaf;

/// The pseudo-function at the leaf of time in this state, in user mode.
pub(super) const fn pseudo(shown: Shown) -> Option<Pseudo> {
    Some(match shown {
        Shown::Serial | Shown::Work => return None,
        Shown::Overhead => Pseudo::Overhead,
        Shown::Reduction => Pseudo::Reduction,
        Shown::ImplicitBarrier => Pseudo::ImplicitBarrier,
        Shown::ExplicitBarrier => Pseudo::ExplicitBarrier,
        Shown::Idle => Pseudo::Idle,
        Shown::Lock => Pseudo::Lock,
        Shown::Critical => Pseudo::Critical,
        Shown::Ordered => Pseudo::Ordered,
        Shown::Atomic => Pseudo::Atomic,
        Shown::Task => Pseudo::Task,
    })
}

/// Whether the thread waits.
pub(super) const fn is_wait(shown: Shown) -> bool {
    !matches!(
        shown,
        Shown::Serial | Shown::Work | Shown::Overhead | Shown::Reduction
    )
}

/// A pattern for names of runtime entry points.
enum Entry {
    Is(&'static str),
    Starts(&'static str),
    Ends(&'static str),
}

/// The runtimes' entry points, and the state of a thread in them if only its stack is known. The
/// first match applies; any other entry point is overhead. (`kmp.h` of LLVM, `libgomp.map` of GCC.)
const ENTRIES: [(Entry, Shown); 26] = [
    (Entry::Ends("doacross_wait"), Shown::Ordered),
    (Entry::Is("GOMP_doacross_ull_wait"), Shown::Ordered),
    (Entry::Is("__kmpc_ordered"), Shown::Ordered),
    (Entry::Is("GOMP_ordered_start"), Shown::Ordered),
    (Entry::Starts("__kmpc_reduce"), Shown::Reduction),
    (Entry::Starts("__kmpc_end_reduce"), Shown::Reduction),
    (Entry::Starts("__kmpc_critical"), Shown::Critical),
    (Entry::Starts("GOMP_critical_start"), Shown::Critical),
    (Entry::Starts("GOMP_critical_name_start"), Shown::Critical),
    (Entry::Starts("__kmpc_set_"), Shown::Lock),
    (Entry::Starts("omp_set_lock"), Shown::Lock),
    (Entry::Starts("omp_set_nest_lock"), Shown::Lock),
    // The same functions in a static libgomp.
    (Entry::Starts("gomp_set_lock"), Shown::Lock),
    (Entry::Starts("gomp_set_nest_lock"), Shown::Lock),
    (Entry::Starts("__kmpc_atomic_"), Shown::Atomic),
    (Entry::Is("GOMP_atomic_start"), Shown::Atomic),
    (Entry::Starts("__kmpc_omp_taskwait"), Shown::Task),
    (Entry::Starts("__kmpc_omp_wait_deps"), Shown::Task),
    (Entry::Is("__kmpc_end_taskgroup"), Shown::Task),
    (Entry::Starts("GOMP_taskwait"), Shown::Task),
    (Entry::Is("GOMP_taskgroup_end"), Shown::Task),
    // Nearly all time in it is waiting for the team at the region's end.
    (Entry::Starts("__kmpc_fork_"), Shown::ImplicitBarrier),
    (Entry::Starts("GOMP_parallel"), Shown::ImplicitBarrier),
    // Explicit barriers cannot be distinguished from those of worksharing constructs, which are
    // more frequent.
    (Entry::Starts("__kmpc_barrier"), Shown::ImplicitBarrier),
    (
        Entry::Starts("__kmpc_cancel_barrier"),
        Shown::ImplicitBarrier,
    ),
    (Entry::Starts("GOMP_barrier"), Shown::ImplicitBarrier),
];

fn of_entry(name: &str) -> Shown {
    let fits = |entry: &Entry| match *entry {
        Entry::Is(whole) => name == whole,
        Entry::Starts(start) => name.starts_with(start),
        Entry::Ends(end) => name.ends_with(end),
    };
    let known = ENTRIES.iter().find(|(entry, _)| fits(entry));
    known.map_or(Shown::Overhead, |&(_, shown)| shown)
}

/// Whether an entry point counts as the program's own work: reading the clock, like reading any
/// other clock, and a flush. A thread that waits by calling them spins in its own code.
fn is_own(entry: Option<&str>) -> bool {
    entry.is_some_and(|name| {
        let clock = name.trim_end_matches('_');
        matches!(clock, "omp_get_wtime" | "omp_get_wtick") || name == FLUSH
    })
}

/// clang's call for the `flush` directive; gcc emits an instruction.
const FLUSH: &str = "__kmpc_flush";

fn is_reduction(entry: Option<&str>) -> bool {
    entry.is_some_and(|name| of_entry(name) == Shown::Reduction)
}

/// The state by the stack alone: records were lost, or no tool could be loaded.
fn by_stack(thread: ThreadKind, leaf: &Leaf, entry: Option<&str>) -> Shown {
    match entry {
        _ if !leaf.runtime || is_own(entry) => match thread {
            ThreadKind::Worker => Shown::Work,
            _ if leaf.inside => Shown::Work,
            _ => Shown::Serial,
        },
        _ if leaf.reducing => Shown::Reduction,
        Some(name) => of_entry(name),
        // A worker with no frames but the runtime's and its first functions.
        None if leaf.bare => Shown::Idle,
        None => Shown::Overhead,
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
) -> Shown {
    let Clues {
        eventful,
        combining,
    } = clues;
    let working = |shown: Shown| match entry {
        _ if leaf.reducing || combining => Shown::Reduction,
        _ if !leaf.runtime || is_own(entry) => shown,
        Some(name) if of_entry(name) == Shown::Reduction => Shown::Reduction,
        // There is no event for it.
        Some(name) if name.contains("doacross") && of_entry(name) == Shown::Ordered => {
            Shown::Ordered
        }
        _ => Shown::Overhead,
    };
    match state {
        // There is no event for it.
        State::Outside | State::Serial | State::Work | State::Unknown if leaf.pool.is_some() => {
            Shown::Idle
        }
        State::Outside if eventful && thread == ThreadKind::Worker => Shown::Idle,
        // A thread without events may belong to a runtime that sends none.
        State::Outside if eventful && thread != ThreadKind::Outside => working(Shown::Serial),
        State::Outside | State::Unknown => by_stack(thread, leaf, entry),
        State::Serial => working(Shown::Serial),
        State::Work => working(Shown::Work),
        State::Overhead => Shown::Overhead,
        State::Reduction => Shown::Reduction,
        State::ImplicitBarrier | State::TeamsBarrier | State::Barrier => Shown::ImplicitBarrier,
        State::ExplicitBarrier => Shown::ExplicitBarrier,
        State::ImplementationBarrier if is_reduction(entry) || leaf.reducing => Shown::Reduction,
        State::ImplementationBarrier => Shown::ImplicitBarrier,
        State::Idle => Shown::Idle,
        State::Lock | State::NestLock => Shown::Lock,
        // A reduction by a compiler-generated critical section.
        State::Critical if combining || is_reduction(entry) => Shown::Reduction,
        State::Critical => Shown::Critical,
        State::Ordered => Shown::Ordered,
        State::Atomic => Shown::Atomic,
        State::TaskWait | State::TaskGroup => Shown::Task,
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
        let shown = |state, entry| refine(state, ThreadKind::Worker, &leaf, Some(entry), clues);
        for clock in ["omp_get_wtime", "omp_get_wtime_", "omp_get_wtick"] {
            assert_eq!(shown(State::Work, clock), Shown::Work);
            assert_eq!(shown(State::Serial, clock), Shown::Serial);
            assert_eq!(shown(State::Lock, clock), Shown::Lock);
        }
        assert_eq!(shown(State::Work, "omp_get_thread_num"), Shown::Overhead);
        assert_eq!(shown(State::Unknown, "omp_get_wtime"), Shown::Work);
        assert_eq!(shown(State::Work, FLUSH), Shown::Work);
    }
}
