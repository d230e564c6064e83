use experiment::ids::ModuleId;
use experiment::tables::{Context, Frame, Module};

use super::*;

struct Setup {
    tables: Tables,
    program: ModuleId,
    runtime: ModuleId,
}

fn setup() -> Setup {
    let mut tables = Tables::default();
    let mut module = |path: &str, runtime| {
        tables.module(Module {
            path: path.into(),
            build_id: String::new(),
            runtime,
        })
    };
    Setup {
        program: module("app", RuntimeKind::None),
        runtime: module("libomp.so", RuntimeKind::Kmp),
        tables,
    }
}

impl Setup {
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
            python: StackId::EMPTY,
            body: FrameId::NONE,
        })
    }
}

#[test]
fn a_stack_that_reaches_the_fork_point_goes_on_as_it_did() {
    let mut w = setup();
    let site = w.stack(&[0x30, 0x20, 0x10], false);
    let region = w.region(site);
    let cut = w.stack(&[0x50, 0x9000, 0x30, 0x20], true);
    let whole = w.stack(&[0x50, 0x9000, 0x30, 0x20, 0x10], false);
    let mut fork_points = ForkPoints::default();
    assert_eq!(fork_points.whole(&mut w.tables, cut, region), Some(whole));
    assert_eq!(fork_points.whole(&mut w.tables, cut, ContextId::ROOT), None);
    assert_eq!(
        fork_points.whole(&mut w.tables, whole, region),
        None,
        "it is whole"
    );
}

#[test]
fn surmised_callers_of_the_forking_thread_are_those_of_the_fork_point() {
    let mut w = setup();
    let site = w.stack(&[0x30, 0x20, 0x10], false);
    let region = w.region(site);
    let mut fork_points = ForkPoints::default();
    let right = w.stack(&[0x50, 0x9000, 0x30, 0x20, 0x10], false);
    let another = w.stack(&[0x50, 0x9000, 0x40, 0x10], false);
    assert_eq!(
        fork_points.whole(&mut w.tables, another, region),
        Some(right)
    );
    // Within a call of the runtime inside of the region.
    let right = w.stack(&[0x9100, 0x50, 0x9000, 0x30, 0x20, 0x10], false);
    let another = w.stack(&[0x9100, 0x50, 0x9000, 0x40, 0x10], false);
    assert_eq!(
        fork_points.whole(&mut w.tables, another, region),
        Some(right)
    );
    let inner_site = w.stack(&[0x60, 0x50, 0x9000, 0x30, 0x20, 0x10], false);
    let inner = w.region(inner_site);
    let right = w.stack(&[0x70, 0x9000, 0x60, 0x50, 0x9000, 0x30, 0x20, 0x10], false);
    let another = w.stack(&[0x70, 0x9000, 0x61, 0x50, 0x9000, 0x40, 0x10], false);
    assert_eq!(
        fork_points.whole(&mut w.tables, another, inner),
        Some(right)
    );
    let worker = w.stack(&[0x50, 0x9000, 0x9001], false);
    assert_eq!(fork_points.whole(&mut w.tables, worker, region), None);
    assert_eq!(
        fork_points.whole(&mut w.tables, another, ContextId::ROOT),
        None
    );
}

#[test]
fn a_stack_that_contradicts_the_fork_point_stays_cut() {
    let mut w = setup();
    let site = w.stack(&[0x30, 0x20, 0x10], false);
    let region = w.region(site);
    let elsewhere = w.stack(&[0x50, 0x9000, 0x30, 0x21], true);
    let before = w.stack(&[0x50, 0x9000], true);
    let mut fork_points = ForkPoints::default();
    assert_eq!(fork_points.whole(&mut w.tables, elsewhere, region), None);
    assert_eq!(fork_points.whole(&mut w.tables, before, region), None);
}

#[test]
fn a_fork_point_in_a_task_does_not_reach_the_threads_first_function() {
    let mut w = setup();
    let site = w.stack(&[0x30, 0x20, 0x9000], false);
    let region = w.region(site);
    let cut = w.stack(&[0x50, 0x9100, 0x30, 0x20], true);
    assert_eq!(
        ForkPoints::default().whole(&mut w.tables, cut, region),
        None
    );
}
