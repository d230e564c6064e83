pub(super) mod written;

use experiment::header::Header;
use experiment::ids::{FrameId, ThreadId};
use experiment::symbols::{Construct, FileId, FrameSymbol, InlinedLine, Outlined, SourceLine};
use experiment::tables::Cut;
use written::Written;

use super::calltree::{TreeRow, calltree};
use super::functions::functions;
use super::lines::lines;
use super::names::{NameForm, NameStyle, Names, unqualified, without_parameters};
use super::neighbours::{Neighbours, callers_callees};
use super::notices::{Notice, inferred_seconds, notices};
use super::threads::threads;
use super::*;
use crate::metrics::Metric;
use crate::profile::{Callee, DisplayFrame, Item, Path, PathId, RefinedState};

fn by_total() -> Request {
    by(Quantity::Time(Flavour::Exclusive, Metric::Total))
}

fn by(quantity: Quantity) -> Request {
    let sort = SortKey {
        quantity,
        reversed: false,
    };
    Request {
        metrics: vec![Metric::Total, Metric::OmpWork, Metric::OmpWait],
        sort,
    }
}

fn close(left: f64, right: f64) -> bool {
    (left - right).abs() < 1e-9
}

fn row<'a>(rows: &'a [ListRow], name: &str) -> &'a ListRow {
    rows.iter().find(|row| row.name == name).unwrap()
}

fn recursion() -> Written {
    let mut written = Written::new();
    written.add(&["main", "foo", "leaf"], RefinedState::Serial, 1.0);
    written.add(&["main", "rec", "leaf"], RefinedState::Serial, 2.0);
    written.add(&["main", "rec", "rec", "leaf"], RefinedState::Serial, 4.0);
    written.add(&["main", "rec", "mid", "rec"], RefinedState::Serial, 8.0);
    written
}

#[test]
fn recursion_counts_once_in_inclusive_time() {
    let written = recursion();
    let list = functions(&written.profile, &written.names(), &by_total());
    assert_eq!(&*list.total.inclusive, &[15.0, 15.0, 0.0]);
    assert_eq!(row(&list.rows, "rec").inclusive[0], 14.0);
    assert_eq!(row(&list.rows, "rec").exclusive[0], 8.0);
    assert_eq!(row(&list.rows, "leaf").exclusive[0], 7.0);
    assert_eq!(row(&list.rows, "leaf").inclusive[0], 7.0);
    assert_eq!(row(&list.rows, "mid").inclusive[0], 8.0);
    let names: Vec<&str> = list.rows.iter().map(|row| row.name.as_str()).collect();
    assert_eq!(names, ["rec", "leaf", "main", "mid", "foo"]);
}

#[test]
fn the_innermost_call_of_a_recursion_is_the_one_attributed() {
    let written = recursion();
    let blocks = callers_callees(&written.profile, &written.names(), &by_total());
    let block = |name: &str| blocks.iter().find(|block| block.row.name == name).unwrap();
    let edges = |neighbours: &[neighbours::Neighbour]| -> Vec<(String, f64)> {
        neighbours
            .iter()
            .map(|edge| (edge.name.clone(), edge.attributed[0]))
            .collect()
    };
    let edge = |name: &str, seconds: f64| (name.to_owned(), seconds);
    let rec = block("rec");
    assert_eq!(
        edges(&rec.callers),
        [edge("mid", 8.0), edge("rec", 4.0), edge("main", 2.0)]
    );
    assert_eq!(
        edges(&rec.callees),
        [edge("leaf", 6.0), edge("mid", 0.0), edge("rec", 0.0)]
    );
    let mid = block("mid");
    assert_eq!(edges(&mid.callers), [edge("rec", 8.0)]);
    assert_eq!(edges(&mid.callees), [edge("rec", 8.0)]);
    assert_eq!(edges(&block(TOTAL).callees), [edge("main", 15.0)]);
    assert_eq!(block(TOTAL).row.exclusive[0], 0.0);
}

#[test]
fn idle_stands_alone_under_total() {
    let mut written = Written::new();
    written.add(&["<OMP idle>"], RefinedState::Idle, 3.0);
    written.add(&["main", "foo"], RefinedState::Work, 2.0);
    written.add(
        &["main", "foo", "<OMP implicit barrier>"],
        RefinedState::ImplicitBarrier,
        0.5,
    );
    let request = by(Quantity::Time(Flavour::Exclusive, Metric::Total));
    let rows = calltree(&written.profile, &written.names(), &request);
    let shape: Vec<(u32, &str, bool, f64)> = rows
        .iter()
        .map(|row| (row.depth, row.name.as_str(), row.last, row.attributed[0]))
        .collect();
    let expected = [
        (0, "<Total>", true, 5.5),
        (1, "<OMP idle>", false, 3.0),
        (1, "main", true, 2.5),
        (2, "foo", true, 2.5),
        (3, "<OMP implicit barrier>", true, 0.5),
    ];
    assert_eq!(shape, expected);
    assert_eq!(&*rows[0].attributed, &[5.5, 2.0, 3.5]);
}

#[test]
fn time_without_a_path_is_shown_as_unknown() {
    let mut written = Written::new();
    written.add(&[], RefinedState::Serial, 1.5);
    written.add(&["main"], RefinedState::Serial, 1.0);
    let list = functions(&written.profile, &written.names(), &by_total());
    assert_eq!(row(&list.rows, "<Unknown>").exclusive[0], 1.5);
    assert_eq!(list.total.exclusive[0], 2.5);
}

#[test]
fn calls_from_two_addresses_of_a_function_are_one_branch() {
    let mut written = Written::new();
    let main = written.callee("main");
    let leaf = written.callee("leaf");
    for frame in [FrameId(1), FrameId(2)] {
        let callers = PathId::EMPTY;
        let frame = DisplayFrame {
            callee: main,
            frame,
        };
        let at = PathId(written.profile.paths.intern(Path { callers, frame }));
        let frame = DisplayFrame {
            callee: leaf,
            frame: FrameId::NONE,
        };
        let path = PathId(written.profile.paths.intern(Path { callers: at, frame }));
        written.add(&[], RefinedState::Serial, 1.0).path = path;
    }
    let rows = calltree(&written.profile, &written.names(), &by_total());
    let names: Vec<&str> = rows.iter().map(|row| row.name.as_str()).collect();
    assert_eq!(names, ["<Total>", "main", "leaf"]);
    assert_eq!(rows[2].attributed[0], 2.0);
}

#[test]
fn lines_group_by_place_and_inlined_functions_are_calls() {
    let mut written = Written::new();
    let place = |line| SourceLine {
        file: FileId(0),
        line,
    };
    let at = |function: &str, line| InlinedLine {
        function: Some(function.to_owned()),
        source: place(line),
    };
    let main = written.function("main");
    let known = |places| FrameSymbol {
        function: Some(main),
        lines: places,
    };
    written.symbols.frames = vec![
        FrameSymbol::default(),
        known(vec![at("main", 7)]),
        known(vec![at("square", 2), at("main", 8)]),
        known(Vec::new()),
    ];
    for (frame, seconds) in [(1, 1.0), (2, 2.0), (2, 2.0), (3, 0.5)] {
        let frame = DisplayFrame {
            callee: Callee::Function(main),
            frame: FrameId(frame),
        };
        let path = written.profile.paths.intern(Path {
            callers: PathId::EMPTY,
            frame,
        });
        written.add(&[], RefinedState::Serial, seconds).path = PathId(path);
    }
    written.add(&["<OMP idle>"], RefinedState::Idle, 0.25);
    let list = lines(&written.profile, &written.names(), &by_total());
    let rows: Vec<(&str, f64, f64)> = list
        .rows
        .iter()
        .map(|row| (row.name.as_str(), row.exclusive[0], row.inclusive[0]))
        .collect();
    let expected = [
        ("square, line 2 in \"a.c\"", 4.0, 4.0),
        ("main, line 7 in \"a.c\"", 1.0, 1.0),
        (
            "<Function: main, instructions without line numbers>",
            0.5,
            0.5,
        ),
        ("<OMP idle>", 0.25, 0.25),
        // The line that calls the inlined function.
        ("main, line 8 in \"a.c\"", 0.0, 4.0),
    ];
    assert_eq!(rows, expected);
}

#[test]
fn names_follow_the_style() {
    let mut written = Written::new();
    let plain = written.function("ns::f<int>(char)");
    written.symbols.functions[0].linkage = "_ZN2ns1fIiEEvc".to_owned();
    let outlined = written.function("foo.omp_outlined");
    written.symbols.functions[1].outlined = Some(Outlined {
        construct: Construct::Parallel,
        parent: Some("foo(int)".to_owned()),
        line: Some(9),
    });
    let nameless = written.function("<static>@0x40 (<prog>)");
    written.symbols.functions[2].linkage = String::new();
    let stub = written.function("f(int)@plt");
    written.symbols.functions[3].linkage = "_Z1fi@plt".to_owned();
    let name = |form, soname, callee| {
        Names {
            style: NameStyle { form, soname },
            ..written.names()
        }
        .name(callee)
    };
    let plain = Callee::Function(plain);
    assert_eq!(name(NameForm::Long, false, plain), "ns::f<int>(char)");
    assert_eq!(name(NameForm::Short, false, plain), "ns::f<int>");
    assert_eq!(
        name(NameForm::Mangled, true, plain),
        "_ZN2ns1fIiEEvc [prog]"
    );
    let region = Callee::Function(outlined);
    let long = "foo(int) -- OMP parallel region from line 9 [foo.omp_outlined]";
    assert_eq!(name(NameForm::Long, false, region), long);
    let short = "foo -- OMP parallel region from line 9 [foo.omp_outlined]";
    assert_eq!(name(NameForm::Short, false, region), short);
    assert_eq!(
        name(NameForm::Long, false, Callee::ParentOf(outlined)),
        "foo(int)"
    );
    let code = Callee::Static(ModuleId(2), 0x2a);
    assert_eq!(name(NameForm::Long, true, code), "<static>@0x2a (<prog>)");
    let nowhere = Callee::Static(ModuleId::NONE, 0x2a);
    assert_eq!(
        name(NameForm::Long, true, nowhere),
        "<static>@0x2a (<Unknown>)"
    );
    let nameless = Callee::Function(nameless);
    for form in [NameForm::Long, NameForm::Short, NameForm::Mangled] {
        assert_eq!(name(form, true, nameless), "<static>@0x40 (<prog>)");
    }
    let stub = Callee::Function(stub);
    assert_eq!(name(NameForm::Long, false, stub), "f(int)@plt");
    assert_eq!(name(NameForm::Short, true, stub), "f@plt [prog]");
    assert_eq!(name(NameForm::Mangled, false, stub), "_Z1fi@plt");
    let cut = Callee::Cut(Cut::DumpTooSmall);
    assert_eq!(name(NameForm::Long, true, cut), "<Truncated-stack>");
}

#[test]
fn parameters_end_a_name_and_operators_do_not() {
    assert_eq!(without_parameters("f(int)"), "f");
    let code = "<static>@0x2a (<prog>)";
    assert_eq!(without_parameters(code), code);
    assert_eq!(
        without_parameters("(anonymous namespace)::f(int)"),
        "(anonymous namespace)::f"
    );
    assert_eq!(
        without_parameters("A::operator()(int) const"),
        "A::operator()"
    );
    assert_eq!(without_parameters("A::operator<(A)"), "A::operator<");
    assert_eq!(without_parameters("A::operator<<(A)"), "A::operator<<");
    assert_eq!(without_parameters("A::operator->()"), "A::operator->");
    assert_eq!(without_parameters("f<void (int)>(char)"), "f<void (int)>");
    assert_eq!(without_parameters("main"), "main");
    for (name, bare) in [
        ("main", "main"),
        ("kernels::smooth", "smooth"),
        ("f(int)", "f"),
        (
            "void phys::Field<double, 200000>::apply<main::$_0>(main::$_0)",
            "apply",
        ),
        ("(anonymous namespace)::f(int)", "f"),
        ("A::operator<(A)", "operator<"),
        ("A<B::C>::operator()(int) const", "operator()"),
        ("f<void (int)>(char)", "f"),
        ("", ""),
    ] {
        assert_eq!(unqualified(name), bare, "{name}");
    }
}

#[test]
fn a_parent_that_was_put_back_is_the_function_itself() {
    let mut written = Written::new();
    let outlined = written.function("foo._omp_fn.0");
    written.symbols.functions[0].outlined = Some(Outlined {
        construct: Construct::Parallel,
        parent: Some("foo".to_owned()),
        line: None,
    });
    written.add(&["foo"], RefinedState::Serial, 1.0);
    let frame = DisplayFrame {
        callee: Callee::ParentOf(outlined),
        frame: FrameId::NONE,
    };
    let path = written.profile.paths.intern(Path {
        callers: PathId::EMPTY,
        frame,
    });
    written.add(&[], RefinedState::Serial, 2.0).path = PathId(path);
    let list = functions(&written.profile, &written.names(), &by_total());
    assert_eq!(list.rows.len(), 1);
    assert_eq!(
        (list.rows[0].name.as_str(), list.rows[0].exclusive[0]),
        ("foo", 3.0)
    );
}

#[test]
fn notices_speak_above_one_percent() {
    let mut written = Written::new();
    written.add(&["main"], RefinedState::Serial, 97.0);
    written.add(&["main"], RefinedState::Serial, 3.0).inferred = true;
    let mut header = Header::default();
    header.sampling.samples = 1_000;
    header.losses.samples = 5;
    header.losses.omp_taken = 50;
    header.losses.omp_lost = 50;
    let found = notices(&header, inferred_seconds(&written.profile));
    let expected = [
        Notice::Inferred {
            seconds: 3.0,
            total: 100.0,
        },
        Notice::OmpRecordsLost {
            lost: 50,
            taken: 50,
        },
    ];
    assert_eq!(found, expected);
    assert!(
        found[1]
            .to_string()
            .starts_with("50.0 % of the OpenMP records (50) were lost")
    );
}

/// A small generator with a fixed seed (SplitMix64), so that failures are reproducible.
struct Random(u64);

impl Random {
    fn below(&mut self, limit: u64) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        (z ^ (z >> 31)) % limit
    }
}

fn random_profile(seed: u64) -> Written {
    const NAMES: [&str; 6] = [
        "main",
        "a",
        "b",
        "c",
        "<OMP idle>",
        "<OMP implicit barrier>",
    ];
    const SHOWN: [RefinedState; 4] = [
        RefinedState::Serial,
        RefinedState::Work,
        RefinedState::ImplicitBarrier,
        RefinedState::Idle,
    ];
    let mut random = Random(seed);
    let mut written = Written::new();
    for _ in 0..random.below(60) {
        let depth = random.below(9);
        let stack: Vec<&str> = (0..depth)
            .map(|_| NAMES[random.below(6) as usize])
            .collect();
        let seconds = random.below(1_000_000) as f64 / 1e6;
        let (state, thread) = (SHOWN[random.below(4) as usize], random.below(2));
        let item = written.add(&stack, state, seconds);
        item.thread = ThreadId(thread as u32);
    }
    written
}

/// Inclusive time by a slow reference method: each item counts once for each function on its stack.
fn inclusive_by_walking(written: &Written, name: &str) -> f64 {
    let names = written.names();
    let on_stack = |item: &&Item| {
        let mut at = item.path;
        let mut found = name == "<Unknown>" && at == PathId::EMPTY;
        while at != PathId::EMPTY {
            let path = written.profile.paths.get(at.0).unwrap();
            found |= names.name(path.frame.callee) == name;
            at = path.callers;
        }
        found
    };
    written
        .profile
        .items
        .iter()
        .filter(on_stack)
        .map(|item| item.seconds)
        .sum()
}

fn check_tree(rows: &[TreeRow], width: usize) {
    for (at, row) in rows.iter().enumerate() {
        for metric in 0..width {
            let children: f64 = rows[at + 1..]
                .iter()
                .take_while(|below| below.depth > row.depth)
                .filter(|below| below.depth == row.depth + 1)
                .map(|below| below.attributed[metric])
                .sum();
            assert!(close(
                row.exclusive[metric] + children,
                row.attributed[metric]
            ));
        }
    }
}

fn check_neighbours(block: &Neighbours, metric: usize) {
    let sum = |edges: &[neighbours::Neighbour]| -> f64 {
        edges.iter().map(|edge| edge.attributed[metric]).sum()
    };
    let inclusive = block.row.inclusive[metric];
    let through = block.row.exclusive[metric] + sum(&block.callees);
    assert!(close(through, inclusive), "{}: callees", block.row.name);
    if block.row.name != TOTAL {
        assert!(
            close(sum(&block.callers), inclusive),
            "{}: callers",
            block.row.name
        );
    }
}

#[test]
fn the_sums_of_every_view_agree() {
    for seed in 0..500 {
        let written = random_profile(seed);
        let (names, request) = (written.names(), by_total());
        let list = functions(&written.profile, &names, &request);
        let rows = calltree(&written.profile, &names, &request);
        let blocks = callers_callees(&written.profile, &names, &request);
        let by_thread = threads(&written.profile, &written.tables, &request.metrics);
        let by_line = lines(&written.profile, &names, &request);
        for metric in 0..request.metrics.len() {
            let total = list.total.exclusive[metric];
            let exclusive: f64 = list.rows.iter().map(|row| row.exclusive[metric]).sum();
            assert!(close(exclusive, total), "seed {seed}: functions");
            let exclusive: f64 = by_line.rows.iter().map(|row| row.exclusive[metric]).sum();
            assert!(close(exclusive, total), "seed {seed}: lines");
            let of_threads: f64 = by_thread.iter().map(|row| row.seconds[metric]).sum();
            assert!(close(of_threads, total), "seed {seed}: threads");
            assert!(
                close(rows[0].attributed[metric], total),
                "seed {seed}: tree"
            );
            blocks
                .iter()
                .for_each(|block| check_neighbours(block, metric));
        }
        let (work, wait) = (list.total.exclusive[1], list.total.exclusive[2]);
        assert!(
            close(work + wait, list.total.exclusive[0]),
            "seed {seed}: work and wait"
        );
        for row in &list.rows {
            let slow = inclusive_by_walking(&written, &row.name);
            assert!(close(row.inclusive[0], slow), "seed {seed}: {}", row.name);
        }
        check_tree(&rows, request.metrics.len());
    }
}
