//! Time in the runtime that is spent on mutexes: taking free ones, and waking threads at a release.

use experiment::ids::StackId;
use experiment::tables::StackEntry;
use rustc_hash::FxHashMap;

use crate::views::names::Names;

/// The machine stacks that are inside a call for a lock or a critical section.
pub(super) struct MutexCalls<'a> {
    names: &'a Names<'a>,
    known: FxHashMap<StackId, bool>,
}

impl<'a> MutexCalls<'a> {
    pub(super) fn new(names: &'a Names<'a>) -> MutexCalls<'a> {
        MutexCalls {
            names,
            known: FxHashMap::default(),
        }
    }

    /// Whether the call by which a stack is in the runtime, the innermost one, is such a call.
    pub(super) fn is_inside(&mut self, stack: StackId) -> bool {
        let names = self.names;
        *self.known.entry(stack).or_insert_with(|| {
            let frames = names.tables.walk(stack).map_while(|entry| match entry {
                StackEntry::Frame(frame) => Some(frame),
                StackEntry::Cut(_) => None,
            });
            let symbols = names.symbols;
            let mut functions = frames.into_iter().flat_map(|frame| {
                // The runtimes' functions leave the stack by jumps; then the call tells.
                let called = symbols
                    .code_of(frame)
                    .and_then(|code| code.calls.as_deref());
                let function = symbols
                    .function_of(frame)
                    .map(|(_, it)| it.linkage.as_str());
                called.into_iter().chain(function)
            });
            functions.find(|it| is_entry(it)).is_some_and(is_mutex_call)
        })
    }
}

/// Whether a function has a name as libgomp's and LLVM's functions that programs call. A program's own
/// function may have one, too, but not within such a call.
fn is_entry(function: &str) -> bool {
    let starts = ["omp_", "GOMP_", "__kmpc_", STATIC];
    starts.iter().any(|start| function.starts_with(start))
}

/// The beginning of the names of the same functions in a static libgomp: `gomp_set_lock_30`.
const STATIC: &str = "gomp_";

/// Whether a function is one for locks or critical sections.
fn is_mutex_call(function: &str) -> bool {
    let criticals = ["GOMP_critical_", "__kmpc_critical", "__kmpc_end_critical"];
    let lock = ["omp_", STATIC, "__kmpc_"]
        .iter()
        .find_map(|start| function.strip_prefix(start));
    let is_lock = |name: &str| {
        let verbs = ["set_", "unset_", "test_"];
        let of = verbs.iter().find_map(|verb| name.strip_prefix(verb));
        of.is_some_and(|of| of.starts_with("lock") || of.starts_with("nest_lock"))
    };
    lock.is_some_and(is_lock) || criticals.iter().any(|start| function.starts_with(start))
}

#[cfg(test)]
mod tests {
    use super::is_mutex_call;

    #[test]
    fn calls_for_mutexes_are_known_by_their_names() {
        for call in [
            "omp_set_lock",
            "omp_unset_nest_lock_",
            "omp_test_lock",
            "GOMP_critical_name_end",
            "gomp_unset_lock_30",
            "__kmpc_unset_lock",
            "__kmpc_end_critical",
            "__kmpc_critical_with_hint",
        ] {
            assert!(is_mutex_call(call), "{call}");
        }
        for other in [
            "kmp_set_blocktime",
            "GOMP_loop_dynamic_next",
            "GOMP_barrier",
            "__kmpc_dispatch_next_4",
            "omp_critical_path",
            "omp_lock_bench",
            "take_lock",
        ] {
            assert!(!is_mutex_call(other), "{other}");
        }
    }
}
