//! Stacks that the copied piece cut short, completed by the fork point that they lead to.
//!
//! The library took the stack of a region's fork point where the region began, and the encountering
//! thread cannot leave that stack before the region ends. So a sample of that thread that reaches
//! the fork point's frame goes on exactly as the fork point did.

use omp_model::ids::{ContextId, FrameId, StackId};
use omp_model::tables::{Cut, RuntimeKind, Stack, StackEntry, Tables};
use rustc_hash::FxHashMap;

/// Completes stacks, each distinct one once.
#[derive(Default)]
pub struct Joins {
    known: FxHashMap<(StackId, ContextId), Option<StackId>>,
}

impl Joins {
    /// The whole stack of a cut one in a context; `None` if it is not cut for want of copied bytes
    /// or does not reach a fork point of the context.
    pub fn whole(
        &mut self,
        tables: &mut Tables,
        stack: StackId,
        context: ContextId,
    ) -> Option<StackId> {
        if context == ContextId::ROOT {
            return None;
        }
        *self
            .known
            .entry((stack, context))
            .or_insert_with(|| join(tables, stack, context))
    }
}

/// The frames of a stack, leaf first, and why it is cut if it is.
fn frames(tables: &Tables, stack: StackId) -> (Vec<FrameId>, Option<Cut>) {
    let mut frames = Vec::new();
    for entry in tables.walk(stack) {
        match entry {
            StackEntry::Frame(frame) => frames.push(frame),
            StackEntry::Cut(reason) => return (frames, Some(reason)),
        }
    }
    (frames, None)
}

fn join(tables: &mut Tables, stack: StackId, context: ContextId) -> Option<StackId> {
    let (cut, reason) = frames(tables, stack);
    if reason != Some(Cut::DumpTooSmall) {
        return None;
    }
    let mut at = context;
    while at != ContextId::ROOT {
        let site = *tables.contexts.get(at.0)?;
        if let Some(inner) = inner_frames(tables, &cut, site.stack) {
            let whole = cut[..inner]
                .iter()
                .rev()
                .fold(site.stack, |callers, frame| {
                    tables.stack(Stack {
                        callers,
                        entry: StackEntry::Frame(*frame),
                    })
                });
            return Some(whole);
        }
        at = site.parent;
    }
    None
}

/// How many frames of the cut stack lie inside of the fork point, if it leads there.
fn inner_frames(tables: &Tables, cut: &[FrameId], site: StackId) -> Option<usize> {
    let (fork, reason) = frames(tables, site);
    let (first, last) = (*fork.first()?, *fork.last()?);
    // The stack of a fork point in an explicit task ends where the runtime ran the task.
    let ends_in_runtime = tables
        .frames
        .get(last.0)
        .and_then(|frame| tables.modules.get(frame.module.0))
        .is_some_and(|module| module.runtime != RuntimeKind::None);
    if reason.is_some() || ends_in_runtime {
        return None;
    }
    let inner = cut.iter().rposition(|frame| *frame == first)?;
    let outward = &cut[inner..];
    fork.starts_with(outward).then_some(inner)
}

#[cfg(test)]
mod tests {
    use super::*;
    use omp_model::ids::ModuleId;
    use omp_model::tables::{Context, ContextKind, Frame, Module};

    struct World {
        tables: Tables,
        program: ModuleId,
        runtime: ModuleId,
    }

    fn world() -> World {
        let mut tables = Tables::default();
        let mut module = |path: &str, runtime| {
            tables.module(Module {
                path: path.into(),
                build_id: String::new(),
                runtime,
            })
        };
        World {
            program: module("app", RuntimeKind::None),
            runtime: module("libomp.so", RuntimeKind::Kmp),
            tables,
        }
    }

    impl World {
        /// A stack of frames, leaf first; those from 0x9000 on are the runtime's.
        fn stack(&mut self, addresses: &[u64], cut: bool) -> StackId {
            let mut stack = StackId::EMPTY;
            if cut {
                stack = self.tables.stack(Stack {
                    callers: stack,
                    entry: StackEntry::Cut(Cut::DumpTooSmall),
                });
            }
            for &address in addresses.iter().rev() {
                let module = match address {
                    0x9000.. => self.runtime,
                    _ => self.program,
                };
                let frame = self.tables.frame(Frame { module, address });
                stack = self.tables.stack(Stack {
                    callers: stack,
                    entry: StackEntry::Frame(frame),
                });
            }
            stack
        }

        fn region(&mut self, site: StackId) -> ContextId {
            self.tables.context(Context {
                parent: ContextId::ROOT,
                kind: ContextKind::Region,
                stack: site,
            })
        }
    }

    #[test]
    fn a_stack_that_reaches_the_fork_point_goes_on_as_it_did() {
        let mut w = world();
        let site = w.stack(&[0x30, 0x20, 0x10], false);
        let region = w.region(site);
        let cut = w.stack(&[0x50, 0x9000, 0x30, 0x20], true);
        let whole = w.stack(&[0x50, 0x9000, 0x30, 0x20, 0x10], false);
        let mut joins = Joins::default();
        assert_eq!(joins.whole(&mut w.tables, cut, region), Some(whole));
        assert_eq!(joins.whole(&mut w.tables, cut, ContextId::ROOT), None);
        assert_eq!(
            joins.whole(&mut w.tables, whole, region),
            None,
            "it is not cut"
        );
    }

    #[test]
    fn a_stack_that_contradicts_the_fork_point_stays_cut() {
        let mut w = world();
        let site = w.stack(&[0x30, 0x20, 0x10], false);
        let region = w.region(site);
        let elsewhere = w.stack(&[0x50, 0x9000, 0x30, 0x21], true);
        let before = w.stack(&[0x50, 0x9000], true);
        let mut joins = Joins::default();
        assert_eq!(joins.whole(&mut w.tables, elsewhere, region), None);
        assert_eq!(joins.whole(&mut w.tables, before, region), None);
    }

    #[test]
    fn a_fork_point_in_a_task_does_not_reach_the_threads_first_function() {
        let mut w = world();
        let site = w.stack(&[0x30, 0x20, 0x9000], false);
        let region = w.region(site);
        let cut = w.stack(&[0x50, 0x9100, 0x30, 0x20], true);
        assert_eq!(Joins::default().whole(&mut w.tables, cut, region), None);
    }
}
