use experiment::header::Sampling;
use experiment::ids::ThreadId;
use experiment::state::Scheduling;
use experiment::symbols::{FileId, Outlined, SourceLine};
use experiment::tables::{Context, ContextKind, Frame, ThreadKind};

use super::overview::{Side, extra_work};
use super::scaling::{self, CostPart};
use super::*;
use crate::metrics::{Available, Flavour, Quantity, SortKey};
use crate::states::RefinedState;
use crate::views::overview::{self as view, Overview};
use crate::views::test_profile::TestProfile;
use crate::views::{ListRow, TOTAL};

fn request() -> Request {
    Request {
        metrics: vec![Metric::Total],
        sort: SortKey {
            quantity: Quantity::Time(Flavour::Exclusive, Metric::Total),
            reversed: false,
        },
    }
}

fn outlined(test: &mut TestProfile, symbol: &str, parent: &str, line: Option<u32>) {
    let id = test.function(symbol).0 as usize;
    let function = &mut test.symbols.functions[id];
    function.source = line.map(|line| SourceLine {
        file: FileId(0),
        line,
    });
    function.outlined = Some(Outlined {
        construct: Construct::Parallel,
        parent: Some(parent.to_owned()),
        line,
    });
}

fn shared<'a>(runs: &[&'a TestProfile]) -> Shared<'a> {
    let runs: Vec<_> = runs.iter().map(|run| (&run.profile, run.names())).collect();
    Shared::new(&runs)
}

fn inclusive(rows: &[ListRow]) -> Vec<(&str, f64)> {
    let row = |row: &'_ ListRow| row.inclusive[0];
    rows.iter().map(|it| (it.name.as_str(), row(it))).collect()
}

/// gcc's symbols and lines, clang's, and those of a gcc that has made a copy of a function.
#[test]
fn compilers_share_the_names_of_constructs() {
    let mut gcc = TestProfile::new();
    outlined(&mut gcc, "step._omp_fn.0", "step", Some(13));
    gcc.add(
        &["main", "step", "step [clone .part.0]", "step._omp_fn.0"],
        RefinedState::Work,
        2.0,
    );
    let mut clang = TestProfile::new();
    outlined(&mut clang, "step.omp_outlined", "step", Some(12));
    clang.add(
        &["main", "step", "step.omp_outlined"],
        RefinedState::Work,
        3.0,
    );
    let shared = shared(&[&gcc, &clang]);
    let region = "step -- OMP parallel region from line 13";
    // A function and its copy are one row, and its time counts once.
    assert_eq!(
        inclusive(&shared.functions(0, &request()).rows),
        [(region, 2.0), ("main", 2.0), ("step", 2.0)]
    );
    assert_eq!(
        inclusive(&shared.functions(1, &request()).rows),
        [(region, 3.0), ("main", 3.0), ("step", 3.0)]
    );
    let symbol = "step -- OMP parallel region from line 12 [step.omp_outlined]";
    assert_eq!(shared.name_of(1, symbol), region);
    let tree: Vec<String> = shared
        .calltree(1, &request())
        .rows
        .into_iter()
        .map(|row| row.name)
        .collect();
    assert_eq!(tree, [TOTAL, "main", "step", region]);
}

/// The same source built by two compilers: instructions match only between runs of the same build.
#[test]
fn instructions_are_the_same_in_one_build_alone() {
    let run = |build: &str| {
        let mut run = TestProfile::new();
        run.add(&["main"], RefinedState::Serial, 2.0);
        let module = run.tables.module(Module {
            path: "/app/solver".to_owned(),
            build_id: build.to_owned(),
            runtime: experiment::tables::RuntimeKind::None,
        });
        let id = run.function("step");
        run.symbols.functions[id.0 as usize].module = module;
        let address = run.symbols.functions[id.0 as usize].address + 0x10;
        let frame = run.tables.frame(Frame { module, address });
        let callers = run.path(&["main"]);
        let path = run.profile.paths.intern(crate::profile::Path {
            callers,
            frame: crate::profile::DisplayFrame {
                callee: Callee::Function(id),
                frame,
                kind: crate::profile::FrameKind::Called,
            },
        });
        run.add(&["main"], RefinedState::Serial, 3.0).path = crate::profile::PathId(path);
        run
    };
    let runs = [run("aa"), run("bb"), run("aa")];
    let shared = shared(&runs.each_ref());
    let rows: Vec<Vec<(String, f64)>> = (0..3)
        .map(|side| {
            let rows = shared.pcs(side, &request()).rows.into_iter();
            rows.map(|row| (row.name, row.exclusive[0])).collect()
        })
        .collect();
    let expected = |build: &str| {
        let step = format!("step + 0x00000010 (build of {build})");
        [(step, 3.0), ("main".to_owned(), 2.0)]
    };
    assert_eq!(rows[0], expected("1"));
    assert_eq!(rows[1], expected("2"));
    assert_eq!(rows[2], expected("1"));
}

/// One thread: 2 s of serial code, 4 s of work in a region. Two threads: the same serial code,
/// in which the other thread idles; 2.5 s of work and 0.5 s of waiting on each.
#[test]
fn what_is_lost_as_threads_grow_has_its_parts() {
    let run = |threads: u32| {
        let mut run = TestProfile::new();
        let region = run.tables.context(Context {
            parent: experiment::ids::ContextId::ROOT,
            kind: ContextKind::Region,
            stack: experiment::ids::StackId::EMPTY,
            python: experiment::ids::StackId::EMPTY,
            body: FrameId::NONE,
        });
        run.add(&["main", "setup"], RefinedState::Serial, 2.0);
        for thread in 0..threads {
            let work = if threads == 1 { 4.0 } else { 2.5 };
            let item = run.add(&["main", "loop"], RefinedState::Work, work);
            (item.thread, item.context) = (ThreadId(thread), region);
            if threads > 1 {
                let wait = run.add(
                    &["main", "loop", "<OMP implicit barrier>"],
                    RefinedState::ImplicitBarrier,
                    0.5,
                );
                wait.scheduling = Scheduling::Blocked;
                (wait.thread, wait.context) = (ThreadId(thread), region);
            }
            if thread > 0 {
                run.add(&["<OMP idle>"], RefinedState::Idle, 2.0).thread = ThreadId(thread);
            }
        }
        run
    };
    let (one, two) = (run(1), run(2));
    let rows = scaling::functions(&shared(&[&one, &two]), &[1, 2]);
    let found: Vec<(&str, [f64; 4])> = rows
        .iter()
        .map(|row| (row.name.as_str(), row.loss(1)))
        .collect();
    // In the order of CostPart::ALL: wait, serial, overhead, work.
    assert_eq!(
        CostPart::ALL.map(CostPart::id),
        ["wait", "serial", "overhead", "work"]
    );
    assert_eq!(
        found,
        [
            (TOTAL, [1.0, 2.0, 0.0, 1.0]),
            ("main", [1.0, 2.0, 0.0, 1.0]),
            ("loop", [1.0, 0.0, 0.0, 1.0]),
            ("setup", [0.0, 2.0, 0.0, 0.0]),
            ("<OMP implicit barrier>", [1.0, 0.0, 0.0, 0.0]),
        ]
    );
    // 2 x 5 s of wall time less 1 x 6 s.
    assert_eq!(rows[0].loss(1).iter().sum::<f64>(), 4.0);
}

/// More CPU time for the same command on more threads is told; for another command or on as many threads
/// it says nothing, and a tenth more is no cause for a sentence.
#[test]
fn extra_work_is_told_of_one_command_on_more_threads() {
    let test = TestProfile::new();
    let available = Available::new(&Sampling::default(), &[], true);
    let overview = |workers, work| Overview {
        threads: vec![(ThreadKind::Initial, 1), (ThreadKind::Worker, workers)],
        times: vec![
            (Metric::OmpWork, work + 1.0),
            (Metric::State(RefinedState::Overhead), 1.0),
        ],
        ..view::overview(&test.profile, &test.names(), &available, 1)
    };
    let told = |sides: &[(&str, usize, f64)]| {
        let sides: Vec<([String; 1], Overview)> = sides
            .iter()
            .map(|&(command, workers, work)| ([command.to_owned()], overview(workers, work)))
            .collect();
        let sides: Vec<Side<'_>> = sides
            .iter()
            .map(|(command, overview)| Side {
                command,
                duration: 9.0,
                overview,
                first: None,
            })
            .collect();
        extra_work(&sides)
    };
    let sentences = told(&[("a", 0, 2.0), ("a", 1, 2.1), ("a", 3, 6.0)]);
    assert_eq!(sentences.len(), 1, "{sentences:?}");
    let begins = "extra work: the same command took 6.000 s of CPU time for its work on 4 threads (3), and 2.000 s on 1 (1)";
    assert!(sentences[0].starts_with(begins), "{sentences:?}");
    for silent in [
        &[("a", 0, 2.0), ("b", 1, 6.0)][..],
        &[("a", 1, 2.0), ("a", 1, 6.0)],
        &[("a", 1, 6.0), ("a", 0, 9.0)],
        &[("a", 0, 2.0)],
        &[],
    ] {
        assert_eq!(told(silent), Vec::<String>::new());
    }
}

fn written(test: &mut TestProfile, name: &str, line: u32) {
    let id = test.function(name).0 as usize;
    test.symbols.functions[id].source = Some(SourceLine {
        file: FileId(0),
        line,
    });
    test.add(&[name], RefinedState::Work, 1.0);
}

/// The type of a parameter has the name that a runtime gives it, and a static function of one name with others that
/// of its file, in the experiment that has both.
#[test]
fn functions_that_builds_name_differently_are_one_row() {
    let mut gcc = TestProfile::new();
    written(&mut gcc, "go(int, omp_depend_t*)", 55);
    written(&mut gcc, "helper (in a.c)", 9);
    written(&mut gcc, "sum<int>(int)", 70);
    let mut clang = TestProfile::new();
    written(&mut clang, "go(int, void**)", 55);
    written(&mut clang, "helper", 9);
    // Another function of the same template.
    written(&mut clang, "sum<long>(long)", 70);
    outlined(&mut clang, "go.omp_outlined", "go(int, void**)", Some(57));
    clang.add(&["go.omp_outlined"], RefinedState::Work, 0.5);
    let shared = shared(&[&gcc, &clang]);
    let names = |side| {
        let rows = shared.functions(side, &request()).rows.into_iter();
        let mut names: Vec<String> = rows.map(|row| row.name).collect();
        names.sort_unstable();
        names
    };
    let region = "go(int, omp_depend_t*) -- OMP parallel region from line 57";
    let (go, helper) = ("go(int, omp_depend_t*)", "helper (in a.c)");
    assert_eq!(names(0), [go, helper, "sum<int>(int)"]);
    assert_eq!(names(1), [go, region, helper, "sum<long>(long)"]);
}
