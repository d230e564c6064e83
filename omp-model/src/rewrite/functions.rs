//! What the names of functions tell: which constructs they are made of, and which are one.

use rustc_hash::FxHashMap;

use super::pools::{self, Waiting};
use experiment::ids::ModuleId;
use experiment::linkage::STUB;
use experiment::symbols::{Construct, Function, FunctionId};

/// What is known of a function, whatever stack it is on.
#[derive(Clone, Copy, Debug)]
pub(super) struct FunctionFacts {
    /// Whether a symbol names it; all that follows is read off that name.
    pub(super) named: bool,
    /// The function whose part this is: itself, but for `_debug__` and `.cold` parts.
    pub(super) whole: FunctionId,
    /// Of which construct it is the body (or combiner).
    pub(super) construct: Option<Construct>,
    /// Whether the runtime's, calling bodies of regions.
    pub(super) microtask: bool,
    /// Whether the runtime's, calling bodies of tasks (in GNU's, and what stands in LLVM's for an
    /// entry point of GNU's, those of regions too).
    pub(super) invokes: bool,
    /// Whether the C library's, the first of a thread.
    pub(super) begins_thread: bool,
    /// Whether written by a compiler for the runtime to call, and no body.
    pub(super) callback: bool,
    /// Whether an entry point of the runtime.
    pub(super) entry: bool,
    /// Whether a stub in the program that leads to one.
    pub(super) leads_to_entry: bool,
    /// Whether clang's inner part of a body.
    pub(super) debug_part: bool,
    /// Whether outlined by clang, whose names tell tasks from regions.
    pub(super) clang: bool,
    /// Whether clang's entry of a task.
    pub(super) task_entry: bool,
    /// Whether outlined by clang without the name of its parent.
    pub(super) plain_outlined: bool,
    /// The pool of threads that waits in it.
    pub(super) pool: Option<Waiting>,
}

/// How the names of GNU's functions begin that call user code (`parallel.c`, `team.c`, `task.c`,
/// `teams.c`, `target.c` of libgomp).
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

/// The first functions of a thread (glibc). In a static executable they lie beside user code.
const THREAD_STARTS: [&str; 5] = ["start_thread", "clone", "__clone", "clone3", "__clone3"];

impl FunctionFacts {
    /// Reads a function's names; `by_name` finds functions of the same recording.
    pub(super) fn new(
        id: FunctionId,
        function: &Function,
        by_name: &FxHashMap<(ModuleId, &str), FunctionId>,
    ) -> FunctionFacts {
        // A stub is called after the function that it leads to, and is none of its kind.
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
        let whole = whole_name(linkage)
            .filter(|_| construct.is_some())
            .and_then(|name| by_name.get(&(function.module, name.as_str())).copied());
        FunctionFacts {
            named: function.has_symbol(),
            whole: whole.unwrap_or(id),
            construct,
            microtask: linkage.starts_with("__kmp_invoke_microtask")
                || linkage.contains("GOMP_microtask_wrapper"),
            invokes: linkage.contains("__kmp_invoke_task")
                || INVOKERS.iter().any(|start| linkage.starts_with(start)),
            begins_thread: THREAD_STARTS.contains(&linkage),
            callback: construct.is_none() && is_callback(linkage),
            entry: is_entry(linkage),
            leads_to_entry: target.is_some_and(is_entry),
            debug_part: is_debug_part(linkage),
            clang: linkage.contains(".omp_outlined") || linkage.contains(".omp_task_entry."),
            task_entry: linkage.contains(".omp_task_entry."),
            plain_outlined: linkage.starts_with(".omp_outlined."),
            pool: pools::of_function(linkage),
        }
    }
}

/// Whether a name is one of those that runtimes give their entry points.
fn is_entry(linkage: &str) -> bool {
    let starts = ["__kmpc_", "GOMP_", "omp_"];
    starts.iter().any(|start| linkage.starts_with(start))
}

/// The name without the suffixes that compilers put on clones and parts of a function.
pub(super) fn base_name(name: &str) -> &str {
    let name = name.split(" [clone").next().unwrap_or(name);
    let ends = [".cold", ".constprop.", ".isra.", ".part.", ".lto_priv."];
    let end = ends.iter().filter_map(|end| name.find(end)).min();
    &name[..end.unwrap_or(name.len())]
}

/// The whole function's symbol that a part's symbol belongs to.
///
/// clang with debug information makes two functions of a construct, `X` that calls `X_debug__`;
/// when numbered, `_debug__.N` is called by `.N+1` (seen with clang 14 to 22).
fn whole_name(linkage: &str) -> Option<String> {
    if let Some(at) = linkage.rfind("_debug__") {
        let (head, tail) = (&linkage[..at], &linkage[at + "_debug__".len()..]);
        if tail.is_empty() {
            return Some(head.to_owned());
        }
        let number: u32 = tail.strip_prefix('.')?.parse().ok()?;
        return Some(format!("{head}.{}", number + 1));
    }
    let at = linkage.rfind(".cold")?;
    Some(linkage[..at].to_owned())
}

/// Whether the part of a name after the last outlining is `_debug__`, numbered or not.
fn is_debug_part(linkage: &str) -> bool {
    linkage.rfind("_debug__").is_some_and(|at| {
        let tail = &linkage[at + "_debug__".len()..];
        tail.strip_prefix('.')
            .unwrap_or(tail)
            .bytes()
            .all(|b| b.is_ascii_digit())
    })
}

/// Functions that compilers write for the runtime to call, other than constructs' bodies.
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
}
