//! The functions of the kernel and of the collector, which are hidden at first.

use std::sync::Arc;

use analyzer::experiments::Experiments;
use analyzer::state::app::App;
use experiment::ids::{ContextId, ModuleId, Nanos};
use experiment::rows::{Sample, SampleKind, Sum, Within};
use experiment::state::{Scheduling, State};
use experiment::tables::{RuntimeKind, ThreadKind};
use test_support::Builder;

use super::{app_of, press, text};

/// A thread that takes a page fault in `main`, then one in the collector.
fn faults() -> App {
    let mut make = Builder::new(&["./app"], "/home/ann/app/foo.c");
    make.process(100, "app", "/home/ann/app/app");
    let app = make.module("/home/ann/app/app", RuntimeKind::None);
    let collector = make.module("/usr/lib/libcollector.so", RuntimeKind::Collector);
    let main = make.function(app, 0x1100, "main", Some(20));
    let wrapper = make.function(collector, 0x2000, "GOMP_parallel", None);
    let entry = make.function(ModuleId::KERNEL, 0x3000, "asm_exc_page_fault", None);
    let fault = make.function(ModuleId::KERNEL, 0x3100, "exc_page_fault", None);
    let thread = make.thread(100, ThreadKind::Initial);
    let thread_state = make.thread_state(State::Serial, ContextId::ROOT);
    let stacks = [
        make.stack(&[fault, entry, main]),
        make.stack(&[fault, entry, wrapper, main]),
    ];
    make.samples = (1..)
        .zip(stacks)
        .map(|(at, stack)| Sample {
            time: Nanos(at * 100_000_000),
            thread,
            cpu: 0,
            kind: SampleKind::Kernel,
            stack,
            thread_state,
            within: Within::default(),
        })
        .collect();
    make.sums.push(Sum {
        slice: 0,
        thread,
        thread_state,
        scheduling: Scheduling::Running,
        time: Nanos(200_000_000),
        count: 1,
    });
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("faults.er");
    make.write(&path);
    let mut app = app_of(Arc::new(Experiments::open(&[path]).unwrap()), (100, 24));
    press(&mut app, "mm");
    app
}

#[test]
fn a_key_shows_the_functions_of_the_kernel_and_the_collector_and_hides_them() {
    let mut app = faults();
    press(&mut app, "4+G");
    let hidden = text(&app);
    assert!(hidden.contains("<collector>") && !hidden.contains("exc_page_fault"));
    assert!(
        hidden.contains("<kernel: page fault>  K shows its functions"),
        "{hidden}"
    );
    press(&mut app, "K+");
    let shown = text(&app);
    assert!(
        shown.contains("GOMP_parallel") && shown.contains("asm_exc_page_fault"),
        "{shown}"
    );
    press(&mut app, "K");
    assert!(!text(&app).contains("exc_page_fault"), "{}", text(&app));
}

#[test]
fn the_callstack_at_the_cursor_has_the_functions_of_the_call_tree() {
    let mut app = faults();
    press(&mut app, "9.");
    assert!(
        text(&app).contains("<kernel: page fault>"),
        "{}",
        text(&app)
    );
    press(&mut app, "K9");
    assert!(text(&app).contains("exc_page_fault"), "{}", text(&app));
}

#[test]
fn user_mode_has_no_functions_to_show() {
    let mut app = faults();
    press(&mut app, "mK");
    assert!(
        text(&app).contains("only stacks of machine mode"),
        "{}",
        text(&app)
    );
}
