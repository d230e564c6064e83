//! Properties of several views together.

use experiment::ids::{FrameId, ThreadId};
use experiment::symbols::{Construct, Outlined};
use fastrand::Rng;

use super::calltree::{TreeRow, calltree};
use super::functions::{self, functions};
use super::lines::lines;
use super::neighbours::{Neighbours, callers_callees};
use super::test_profile::{TestProfile, by, by_total};
use super::threads::threads;
use super::*;
use crate::metrics::Metric;
use crate::profile::{Callee, DisplayFrame, Item, Path, PathId};
use crate::states::RefinedState;

fn close(left: f64, right: f64) -> bool {
    (left - right).abs() < 1e-9
}

fn row<'a>(rows: &'a [ListRow], name: &str) -> &'a ListRow {
    rows.iter().find(|row| row.name == name).unwrap()
}

fn recursion() -> TestProfile {
    let mut test = TestProfile::new();
    test.add(&["main", "foo", "leaf"], RefinedState::Serial, 1.0);
    test.add(&["main", "rec", "leaf"], RefinedState::Serial, 2.0);
    test.add(&["main", "rec", "rec", "leaf"], RefinedState::Serial, 4.0);
    test.add(&["main", "rec", "mid", "rec"], RefinedState::Serial, 8.0);
    test
}

#[test]
fn recursion_counts_once_in_inclusive_time() {
    let test = recursion();
    let list = functions(&test.profile, &test.names(), &by_total());
    assert_eq!(&*list.total.inclusive, &[15.0, 15.0, 0.0, 0.0, 0.0, 0.0]);
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
    let test = recursion();
    let blocks = callers_callees(&test.profile, &test.names(), &by_total());
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
fn idle_is_alone_under_total() {
    let mut test = TestProfile::new();
    test.add(&["<OMP idle>"], RefinedState::Idle, 3.0);
    test.add(&["main", "foo"], RefinedState::Work, 2.0);
    test.add(
        &["main", "foo", "<OMP implicit barrier>"],
        RefinedState::ImplicitBarrier,
        0.5,
    );
    let request = by(Quantity::Time(Flavour::Exclusive, Metric::Total));
    let rows = calltree(&test.profile, &test.names(), &request).rows;
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
    assert_eq!(&*rows[0].attributed, &[5.5, 2.0, 3.5, 0.0, 0.0, 0.0]);
}

#[test]
fn time_without_a_path_is_shown_as_unknown() {
    let mut test = TestProfile::new();
    test.add(&[], RefinedState::Serial, 1.5);
    test.add(&["main"], RefinedState::Serial, 1.0);
    let list = functions(&test.profile, &test.names(), &by_total());
    assert_eq!(row(&list.rows, "<Unknown>").exclusive[0], 1.5);
    assert_eq!(list.total.exclusive[0], 2.5);
}

#[test]
fn calls_from_two_addresses_of_a_function_are_one_branch() {
    let mut test = TestProfile::new();
    let main = test.callee("main");
    let leaf = test.callee("leaf");
    for frame in [FrameId(1), FrameId(2)] {
        let callers = PathId::EMPTY;
        let frame = DisplayFrame {
            callee: main,
            frame,
            kind: crate::profile::FrameKind::Called,
        };
        let at = PathId(test.profile.paths.intern(Path { callers, frame }));
        let frame = DisplayFrame {
            callee: leaf,
            frame: FrameId::NONE,
            kind: crate::profile::FrameKind::Called,
        };
        let path = PathId(test.profile.paths.intern(Path { callers: at, frame }));
        test.add(&[], RefinedState::Serial, 1.0).path = path;
    }
    let rows = calltree(&test.profile, &test.names(), &by_total()).rows;
    let names: Vec<&str> = rows.iter().map(|row| row.name.as_str()).collect();
    assert_eq!(names, ["<Total>", "main", "leaf"]);
    assert_eq!(rows[2].attributed[0], 2.0);
}

#[test]
fn a_parent_that_was_put_back_is_the_function_itself() {
    let mut test = TestProfile::new();
    let outlined = test.function("foo._omp_fn.0");
    test.symbols.functions[0].outlined = Some(Outlined {
        construct: Construct::Parallel,
        parent: Some("foo".to_owned()),
        line: None,
    });
    test.add(&["foo"], RefinedState::Serial, 1.0);
    let frame = DisplayFrame {
        callee: Callee::ParentOf(outlined),
        frame: FrameId::NONE,
        kind: crate::profile::FrameKind::Called,
    };
    let path = test.profile.paths.intern(Path {
        callers: PathId::EMPTY,
        frame,
    });
    test.add(&[], RefinedState::Serial, 2.0).path = PathId(path);
    let list = functions(&test.profile, &test.names(), &by_total());
    assert_eq!(list.rows.len(), 1);
    assert_eq!(
        (list.rows[0].name.as_str(), list.rows[0].exclusive[0]),
        ("foo", 3.0)
    );
}

fn random_profile(seed: u64) -> TestProfile {
    const NAMES: [&str; 6] = [
        "main",
        "a",
        "b",
        "c",
        "<OMP idle>",
        "<OMP implicit barrier>",
    ];
    const STATES: [RefinedState; 4] = [
        RefinedState::Serial,
        RefinedState::Work,
        RefinedState::ImplicitBarrier,
        RefinedState::Idle,
    ];
    let mut random = Rng::with_seed(seed);
    let mut test = TestProfile::new();
    for _ in 0..random.u64(..60) {
        let depth = random.u64(..9);
        let stack: Vec<&str> = (0..depth)
            .map(|_| NAMES[random.u64(..6) as usize])
            .collect();
        let seconds = random.u64(..1_000_000) as f64 / 1e6;
        let (state, thread) = (STATES[random.u64(..4) as usize], random.u64(..2));
        let item = test.add(&stack, state, seconds);
        item.thread = ThreadId(thread as u32);
    }
    test
}

/// Inclusive time by a slow reference method: each item counts once for each function on its stack.
fn inclusive_by_walking(test: &TestProfile, name: &str) -> f64 {
    let names = test.names();
    let on_stack = |item: &&Item| {
        let mut at = item.path;
        let mut found = name == "<Unknown>" && at == PathId::EMPTY;
        while at != PathId::EMPTY {
            let path = test.profile.paths.get(at.0).unwrap();
            found |= names.name(path.frame.callee) == name;
            at = path.callers;
        }
        found
    };
    test.profile
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
        let test = random_profile(seed);
        let (names, request) = (test.names(), by_total());
        let list = functions(&test.profile, &names, &request);
        let rows = calltree(&test.profile, &names, &request).rows;
        let blocks = callers_callees(&test.profile, &names, &request);
        let by_thread = threads(&test.profile, &test.tables, &request.metrics);
        let by_line = lines(&test.profile, &names, &request);
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
            let slow = inclusive_by_walking(&test, &row.name);
            assert!(close(row.inclusive[0], slow), "seed {seed}: {}", row.name);
        }
        check_tree(&rows, request.metrics.len());
    }
}

/// The call tree as `depth name attributed`, with the marks of rows.
fn tree_lines(test: &TestProfile) -> Vec<String> {
    let rows = calltree(&test.profile, &test.names(), &by_total()).rows;
    let line = |row: &TreeRow| {
        let mark = if row.marks.recursive {
            " recursive"
        } else {
            ""
        };
        let (depth, name, seconds) = (row.depth, &row.name, row.attributed[0]);
        format!("{depth} {name} {seconds}{mark}")
    };
    rows.iter().map(line).collect()
}

#[test]
fn repeated_frames_stand_once_in_the_call_tree() {
    let mut test = TestProfile::new();
    let state = RefinedState::Serial;
    test.add(&["main", "fib"], state, 1.0);
    test.add(&["main", "fib", "fib", "fib", "add"], state, 2.0);
    // A cycle of two, and stacks that end within it or leave it.
    test.add(&["main", "a", "b", "a", "b", "a", "b", "leaf"], state, 4.0);
    test.add(&["main", "a", "b", "a", "c"], state, 8.0);
    let expected = [
        "0 <Total> 15",
        "1 main 15",
        "2 a 12 recursive",
        "3 b 12",
        "4 a 8",
        "5 c 8",
        "4 leaf 4",
        "2 fib 3 recursive",
        "3 add 2",
    ];
    assert_eq!(tree_lines(&test), expected);
    // What folding leaves without time, here `a` below `b`, is no row that is missing.
    let mut test = TestProfile::new();
    test.add(&["main", "a", "b", "a", "b", "leaf"], state, 4.0);
    let tree = calltree(&test.profile, &test.names(), &by_total());
    assert_eq!((tree.rows.len(), tree.left_out), (5, 0));
}

#[test]
fn a_recursion_through_tasks_folds_and_a_deep_one_is_not_deep() {
    let mut test = TestProfile::new();
    let mut stack = vec!["main"];
    for _ in 0..1000 {
        stack.extend(["traverse", "task"]);
    }
    test.add(&stack, RefinedState::Work, 3.0);
    stack.push("work");
    test.add(&stack, RefinedState::Work, 5.0);
    let expected = [
        "0 <Total> 8",
        "1 main 8",
        "2 traverse 8 recursive",
        "3 task 8",
        "4 work 5",
    ];
    assert_eq!(tree_lines(&test), expected);
}

/// No function is lost on the way from a stack to its folded one: by function, inclusive times of
/// the folded tree are those of the stacks.
#[test]
fn folding_keeps_the_inclusive_time_of_every_function() {
    let mut random = Rng::with_seed(16);
    for _ in 0..200 {
        let mut test = TestProfile::new();
        for _ in 0..20 {
            let length = random.usize(1..40);
            let names = ["a", "b", "c"];
            let stack: Vec<&str> = (0..length).map(|_| names[random.usize(..3)]).collect();
            test.add(&stack, RefinedState::Serial, 1.0);
        }
        let (names, request) = (test.names(), by_total());
        let sums = |tree: &Tree<Callee>| {
            let sums = functions::list(tree, &request, |&it| (names.name(it), None));
            let rows = sums.rows.into_iter();
            let times = rows.map(|row| (row.name, row.exclusive[0], row.inclusive[0]));
            times.collect::<Vec<_>>()
        };
        let plain = functions::tree(&test.profile, &names, &request);
        let folded = functions::folded_tree(&test.profile, &names, &request);
        assert_eq!(sums(&plain), sums(&folded));
        assert_eq!(plain.total(), folded.total());
    }
}

#[test]
fn inferred_time_is_summed_beside_all_time() {
    let mut test = TestProfile::new();
    test.add(&["main", "foo"], RefinedState::Work, 2.0);
    test.add(&["main", "foo"], RefinedState::Work, 3.0).inferred = true;
    test.add(&["main"], RefinedState::Work, 1.0);
    let request = by_total();
    let at = request.inferred(Metric::OmpWork).unwrap();
    let list = functions(&test.profile, &test.names(), &request);
    assert_eq!(row(&list.rows, "foo").exclusive[at], 3.0);
    assert_eq!(row(&list.rows, "main").exclusive[at], 0.0);
    assert_eq!(row(&list.rows, "main").inclusive[at], 3.0);
    assert_eq!(list.total.inclusive[at], 3.0);
}

#[test]
fn of_too_many_nodes_the_call_tree_shows_the_largest() {
    let mut test = TestProfile::new();
    let most = super::calltree::MOST_NODES;
    let names: Vec<String> = (0..400).map(|at| format!("f{at}")).collect();
    // 400 functions of which each calls 400.
    for outer in &names {
        for (at, inner) in names.iter().enumerate() {
            test.add(&[outer, inner], RefinedState::Serial, 1.0 + at as f64);
        }
    }
    let tree = calltree(&test.profile, &test.names(), &by_total());
    // A function that calls itself is one node.
    let all = 1 + 400 + 400 * 399;
    assert!(all > most);
    assert_eq!(tree.rows.len() + tree.left_out, all);
    // Calls of one function have equal shares: those of the limit are all left out.
    assert!(
        (most - 400..=most).contains(&tree.rows.len()),
        "{}",
        tree.left_out
    );
    let share = |row: &TreeRow| row.attributed[0] / tree.rows[0].attributed[0];
    assert!(tree.rows.iter().all(|row| share(row) > tree.smaller));
    assert!(tree.smaller > 0.0);
}
