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

    /// Whether the innermost frames of a stack that is in the runtime are those of such a call.
    pub(super) fn is_inside(&mut self, stack: StackId) -> bool {
        let names = self.names;
        *self.known.entry(stack).or_insert_with(|| {
            let frames = names.tables.walk(stack).map_while(|entry| match entry {
                StackEntry::Frame(frame) => Some(frame),
                StackEntry::Cut(_) => None,
            });
            let symbols = names.symbols;
            frames.into_iter().any(|frame| {
                // The runtimes' functions leave the stack by jumps; then the call tells.
                let function = symbols.function_of(frame).map(|(_, it)| &it.linkage);
                let called = symbols.code_of(frame).and_then(|code| code.calls.as_ref());
                [function, called]
                    .into_iter()
                    .flatten()
                    .any(|it| is_mutex_call(it))
            })
        })
    }
}

/// Whether a function is one of libgomp's or LLVM's for locks or critical sections.
fn is_mutex_call(function: &str) -> bool {
    let of_runtime = ["omp_", "GOMP_", "gomp_", "__kmpc_"];
    let what = ["_lock", "_nest_lock", "_critical"];
    of_runtime.iter().any(|start| function.starts_with(start))
        && what.iter().any(|part| function.contains(part))
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
            "take_lock",
            "critical",
        ] {
            assert!(!is_mutex_call(other), "{other}");
        }
    }
}
