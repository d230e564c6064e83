//! Notes on runtimes.

use std::sync::Arc;

use super::*;
use processes::runtimes;

fn mapped(pid: i32, program: u64, path: &str, traced: bool) -> Mapped {
    let mut runtime = runtimes::Runtime::default();
    runtime.traced = traced;
    Mapped {
        pid,
        program,
        path: path.to_owned(),
        build_id: String::new(),
        linked: false,
        runtime: Arc::new(runtime),
    }
}

#[test]
fn two_runtimes_of_one_program_are_noted_with_their_paths() {
    let all = [
        mapped(10, 0, "/lib/libgomp.so.1", false),
        mapped(11, 0, "/lib/libgomp.so.1", false),
        mapped(10, 0, "/x/libgomp-e985bcbb.so", false),
        // The program that the process had after it.
        mapped(11, 7, "/lib/libomp.so.5", false),
    ];
    let notes = several_runtimes(&all);
    let [note] = notes.as_slice() else {
        panic!("{notes:?}");
    };
    let begins = "process 10 has 2 OpenMP runtimes, /lib/libgomp.so.1 and /x/libgomp-e985bcbb.so:";
    assert!(note.starts_with(begins), "{note}");
}

#[test]
fn a_traced_build_is_noted_once() {
    let all = [
        mapped(10, 0, "/lib/libomp.so.5", true),
        mapped(11, 0, "/lib/libomp.so.5", true),
        mapped(11, 0, "/lib/libgomp.so.1", false),
    ];
    let notes = traced_runtimes(&all);
    assert_eq!(notes.len(), 1);
    assert!(notes[0].starts_with("/lib/libomp.so.5 was built with debug tracing"));
}

#[test]
fn a_runtime_without_events_says_why_and_what_it_means() {
    let note = |name: &str, cause| {
        let name = name.to_owned();
        silent_note(&Silent { name, cause })
    };
    let linked = note("app", None);
    assert!(linked.contains("linked into app") && linked.contains("from their stacks"));
    let shared = note("libomp.so.5", Some(Cause::ToolsDisabled));
    assert!(shared.contains("OMP_TOOL=disabled") && shared.contains("from their stacks"));
    let reason = "libcollector.so is nowhere";
    let unheard = note("libomp.so.5", Some(Cause::NoLibrary(reason.to_owned())));
    assert!(unheard.ends_with(reason));
}
