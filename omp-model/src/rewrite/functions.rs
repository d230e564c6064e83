//! Facts read from function names: the construct that a function belongs to, and the function that
//! it is a part of.

use experiment::ids::ModuleId;
use experiment::linkage::{self, STUB, part_of};
use experiment::symbols::{Construct, Function, FunctionId};
use rustc_hash::FxHashMap;

use super::pools::{self, Waiting};

/// Facts about a function, independent of the stack that it is on.
#[derive(Clone, Copy, Debug)]
pub(super) struct FunctionFacts {
    /// Whether it has a symbol; the other fields are derived from its name.
    pub(super) named: bool,
    /// The function that this is a part of: itself, except for `_debug__` and `.cold` parts.
    pub(super) whole: FunctionId,
    /// The construct that it is the body (or combiner) of.
    pub(super) construct: Option<Construct>,
    /// Whether its code is also that of a task, if it is the body of another construct, or the other
    /// way round.
    pub(super) serves_both: bool,
    /// Whether it is a runtime function that calls bodies of regions.
    pub(super) microtask: bool,
    /// Whether it is a runtime function that calls bodies of tasks (and of regions, in GNU's
    /// runtime and in the GNU-compatible entry points of LLVM's).
    pub(super) invokes: bool,
    /// Whether it is a C library function that a thread starts in.
    pub(super) begins_thread: bool,
    /// Whether it is compiler-generated code that the runtime calls, other than a body.
    pub(super) callback: bool,
    /// Whether it is an entry point of the runtime.
    pub(super) entry: bool,
    /// Whether it is a stub in the program that leads to an entry point.
    pub(super) leads_to_entry: bool,
    /// Whether it is the inner part (`_debug__`) that clang makes of a body.
    pub(super) debug_part: bool,
    /// Whether it was outlined by clang, whose names distinguish tasks from regions.
    pub(super) clang: bool,
    /// Whether it is the body of a target region, which has no context of its own.
    pub(super) target: bool,
    /// Whether it is a task entry made by clang.
    pub(super) task_entry: bool,
    /// Whether clang outlined it without the name of its parent.
    pub(super) plain_outlined: bool,
    /// The thread pool that waits in it.
    pub(super) pool: Option<Waiting>,
}

/// Prefixes of the libgomp functions that call user code (`parallel.c`, `team.c`, `task.c`,
/// `teams.c`, `target.c`).
const INVOKERS: [&str; 8] = [
    "GOMP_parallel",
    "GOMP_task",
    "GOMP_teams",
    "GOMP_target",
    "gomp_thread_start",
    "gomp_barrier_handle_tasks",
    "gomp_task",
    "gomp_target",
];

/// The mark of clang's functions that run a task.
pub(super) const TASK_ENTRY: &str = ".omp_task_entry.";

/// The first functions of a thread (glibc). A static executable holds them together with user code.
const THREAD_STARTS: [&str; 5] = ["start_thread", "clone", "__clone", "clone3", "__clone3"];

/// Whether a function is one that a thread starts in.
pub(crate) fn begins_thread(linkage: &str) -> bool {
    THREAD_STARTS.contains(&linkage)
}

/// Whether a name is that of a runtime entry point.
pub(crate) fn is_entry(linkage: &str) -> bool {
    let starts = ["__kmpc_", "GOMP_", "omp_", "MPI_", "PMPI_", "mpi_wti"];
    starts.iter().any(|start| linkage.starts_with(start))
}

impl FunctionFacts {
    /// Reads a function's names; `by_name` finds functions of the same experiment.
    pub(super) fn new(
        id: FunctionId,
        function: &Function,
        by_name: &FxHashMap<(ModuleId, &str), FunctionId>,
    ) -> FunctionFacts {
        // A stub is named after the function that it leads to, but does not share its properties.
        let target = function.linkage.strip_suffix(STUB);
        let linkage = match target {
            Some(_) => "",
            None => function.linkage.split('@').next().unwrap_or_default(),
        };
        let outlined = function.outlined.as_ref().map(|o| o.construct);
        let combiner = linkage.contains(".omp.reduction.");
        let construct = if combiner {
            Some(Construct::Reduction)
        } else {
            outlined
        };
        let whole = part_of(linkage)
            .map(str::to_owned)
            .or_else(|| debug_part_of(linkage).filter(|_| construct.is_some()))
            .and_then(|name| by_name.get(&(function.module, name.as_str())).copied());
        FunctionFacts {
            named: function.has_symbol(),
            whole: whole.unwrap_or(id),
            construct,
            serves_both: false,
            microtask: linkage.starts_with("__kmp_invoke_microtask")
                || linkage.contains("GOMP_microtask_wrapper"),
            invokes: linkage.contains("__kmp_invoke_task")
                || INVOKERS.iter().any(|start| linkage.starts_with(start)),
            begins_thread: begins_thread(linkage),
            callback: construct.is_none() && is_callback(linkage),
            entry: is_entry(linkage),
            leads_to_entry: target.is_some_and(is_entry),
            debug_part: linkage::is_inner_body(linkage),
            clang: linkage.contains(".omp_outlined") || linkage.contains(TASK_ENTRY),
            target: construct == Some(Construct::Target) && !linkage.contains(TASK_ENTRY),
            task_entry: linkage.contains(TASK_ENTRY),
            plain_outlined: linkage.starts_with(".omp_outlined."),
            pool: pools::of_function(linkage),
        }
    }
}

/// The symbol of the function that clang makes around the one with this symbol.
///
/// With debug information clang makes two functions of a construct: `X` calls `X_debug__`. When
/// they are numbered, `.N+1` calls `_debug__.N` (clang 14 to 22).
fn debug_part_of(linkage: &str) -> Option<String> {
    let at = linkage.rfind("_debug__")?;
    let (head, tail) = (&linkage[..at], &linkage[at + "_debug__".len()..]);
    if tail.is_empty() {
        return Some(head.to_owned());
    }
    let number: u32 = tail.strip_prefix('.')?.parse().ok()?;
    Some(format!("{head}.{}", number + 1))
}

/// Whether a function is compiler-generated code that the runtime calls, other than a construct's
/// body.
fn is_callback(linkage: &str) -> bool {
    const STARTS: [&str; 5] = [
        ".omp_combiner.",
        ".omp_initializer.",
        ".omp_task_",
        ".omp.",
        "__kmpc_global_",
    ];
    STARTS.iter().any(|start| linkage.starts_with(start))
        || linkage.contains(".omp.reduction.")
        || linkage.contains(".omp.copyprivate.")
        || linkage.contains("._omp_cpyfn.")
}
