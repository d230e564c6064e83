//! Regions, tasks and target regions: each once, under its own function, at its directive's line.

use std::fs;
use std::process::{Child, Command};
use std::time::{Duration, Instant};

use end_to_end::{reports, rows, value, watch};

use crate::run::{PROGRAM, Run};
use crate::shown::{Construct, Faults, Tree, constructs, ends_with, just, name};

const REGIONS: &str = "-OMP_preg";
const TASKS: &str = "-OMP_task";

/// Both directives have their own tasks, though the function ends by a jump into the runtime.
pub(crate) fn task_jumps(run: &Run) -> Result<(), String> {
    let experiment = run.record().experiment;
    let tasks = constructs(&experiment, TASKS);
    // One by each directive for each of the 2047 calls that are not leaves.
    let task = |line: u32| format!("traverse -- OMP task from line {line}");
    just(&tasks, &[(&task(7), 2047), (&task(9), 2047)])
}

/// Tasks that are created by a jump at the end of a region belong to its function.
pub(crate) fn task_at_region_end(run: &Run) -> Result<(), String> {
    let experiment = run.record().experiment;
    let mut faults = Faults::default();
    let regions = [
        ("go -- OMP parallel region from line 5", 2020),
        ("go2 -- OMP parallel region from line 12", 20),
    ];
    faults.note(just(&constructs(&experiment, REGIONS), &regions));
    // One for each of the four threads.
    let tasks = [
        ("go -- OMP task from line 7", 8080),
        ("go2 -- OMP task from line 14", 80),
    ];
    faults.note(just(&constructs(&experiment, TASKS), &tasks));
    faults.found()
}

/// A taskloop is one construct of its function, and its tasks are children of it alone.
pub(crate) fn taskloop(run: &Run) -> Result<(), String> {
    let experiment = run.record().experiment;
    let mut faults = Faults::default();
    // One row for the loop, one for its tasks, or both.
    let is_loop = |name: &str| name.starts_with("main -- OMP taskloop from line 8");
    let is_task = |name: &str| name.starts_with("main -- OMP task from line 8");
    let tasks = constructs(&experiment, TASKS);
    let loops = tasks.iter().filter(|task| is_loop(&task.name)).count();
    let chunks = tasks.iter().filter(|task| is_task(&task.name)).count();
    let one = loops <= 1 && chunks <= 1 && loops + chunks == tasks.len() && !tasks.is_empty();
    faults.unless(one, || {
        let names: Vec<&str> = tasks.iter().map(|task| task.name.as_str()).collect();
        format!("{names:#?} instead of one taskloop at line 8")
    });
    for task in &tasks {
        // The tasks into which the runtime splits the loop are not the program's.
        for creator in task.row["created"].as_array().into_iter().flatten() {
            let by = name(creator);
            let region = by.starts_with("main -- OMP parallel region from line 5");
            faults.unless(region || is_loop(&by), || {
                format!("{} is created in {by}", task.name)
            });
        }
    }
    let at_most_one = |path: &Vec<String>, is: &dyn Fn(&str) -> bool| {
        path.iter().filter(|name| is(name)).count() <= 1
    };
    for path in Tree::of(&experiment).paths() {
        let flat = at_most_one(&path, &is_loop) && at_most_one(&path, &is_task);
        let last = path.last().map_or("", String::as_str);
        let own = !last.contains("-- OMP task") || is_loop(last) || is_task(last);
        faults.unless(flat && own, || {
            format!("the call tree has {}", path.join(" / "))
        });
    }
    faults.found()
}

/// The tasks of a taskloop are counted, whoever creates and executes them, and named by it.
pub(crate) fn taskloops(run: &Run) -> Result<(), String> {
    let experiment = run.record().experiment;
    let tasks = [
        ("main -- OMP taskloop from line 8", 30),
        ("main -- OMP taskloop from line 10", 20),
        ("main -- OMP taskloop from line 12", 100),
        ("main -- OMP taskloop from line 15", 70),
    ];
    just(&constructs(&experiment, TASKS), &tasks)
}

/// The region and the task that the program leaves by `exit` were executed once. The task has no
/// length.
pub(crate) fn left_open(run: &Run) -> Result<(), String> {
    let experiment = run.record().experiment;
    let mut faults = Faults::default();
    let regions = constructs(&experiment, REGIONS);
    faults.note(just(
        &regions,
        &[("main -- OMP parallel region from line 6", 1)],
    ));
    let elapsed = regions
        .first()
        .and_then(|it| it.row["exclusive"]["elapsed"].as_f64());
    faults.unless(elapsed.is_some_and(|it| it >= 0.030), || {
        format!("the region lasted {elapsed:?} s")
    });
    let tasks = constructs(&experiment, TASKS);
    let (ended, open) = (
        "main -- OMP task from line 10",
        "main -- OMP task from line 14",
    );
    faults.note(just(&tasks, &[(ended, 4), (open, 1)]));
    for task in &tasks {
        let left = u64::from(task.name == open);
        let (unfinished, mean) = (&task.row["unfinished"], &task.row["mean"]);
        faults.unless(*unfinished == left && mean.is_null() == (left == 1), || {
            format!("{}: {unfinished} unfinished, mean {mean}", task.name)
        });
    }
    faults.found()
}

/// Target regions and what is in them are called by the functions that hold the directives.
pub(crate) fn target(run: &Run) -> Result<(), String> {
    let experiment = run.record().experiment;
    let paths = Tree::of(&experiment).paths();
    let mut faults = Faults::default();
    no_symbols_of_target_regions(&mut faults, &paths);
    // The last of the names is a construct from this line.
    let mut has = |path: &[&str], line: u32| {
        let line = format!(" from line {line}");
        let is = |names: &Vec<String>| {
            ends_with(names, path) && names.last().is_some_and(|name| name.ends_with(&line))
        };
        faults.unless(paths.iter().any(is), || {
            format!("the call tree has no {}{line}", path.join(" / "))
        });
    };
    has(&["main", "work", "work -- OMP target"], 4);
    has(&["work -- OMP target", "work -- OMP parallel region"], 7);
    has(&["main", "tt", "tt -- OMP target"], 12);
    has(&["nw -- OMP target"], 18);
    has(&["main", "nw", "nw -- OMP task"], 22);
    for name in paths.iter().flatten() {
        let region = |line: u32| name.ends_with(&format!("parallel region from line {line}"));
        faults.unless(!region(4) && !region(18), || {
            format!("the call tree has {name}, which is a target region")
        });
    }
    faults.found()
}

/// All constructs of a target region in a template are at the directive's line.
pub(crate) fn target_template(run: &Run) -> Result<(), String> {
    targets_at(run, "axpy<double>", 3)
}

/// All constructs of a target region whose body has inlined code from above are at its line.
pub(crate) fn target_inlined(run: &Run) -> Result<(), String> {
    targets_at(run, "main", 16)
}

/// There is a target region in `function`, and it and all other constructs are at `line`.
fn targets_at(run: &Run, function: &str, line: u32) -> Result<(), String> {
    let experiment = run.record().experiment;
    let paths = Tree::of(&experiment).paths();
    let mut faults = Faults::default();
    no_symbols_of_target_regions(&mut faults, &paths);
    let target = |name: &String| name.contains(function) && name.contains("-- OMP target");
    faults.unless(paths.iter().flatten().any(target), || {
        format!("there is no target region of {function}")
    });
    let at_line = format!(" from line {line}");
    for name in paths.iter().flatten() {
        let other = name.contains(" -- OMP ") && !name.ends_with(&at_line);
        faults.unless(!other, || {
            format!("the call tree has {name}, and the directive is at line {line}")
        });
    }
    faults.found()
}

/// clang's symbol of a target region, `__omp_offloading_…`, is not a function of the program.
fn no_symbols_of_target_regions(faults: &mut Faults, paths: &[Vec<String>]) {
    for name in paths.iter().flatten() {
        faults.unless(!name.contains("__omp_offloading"), || {
            format!("the call tree has {name}")
        });
    }
}

/// Each execution of a teams directive is one instance at the outermost level, whatever the runtime
/// forks to create the teams. Work stands under the directive that it is in.
pub(crate) fn teams(run: &Run) -> Result<(), String> {
    let experiment = run.record().experiment;
    let mut faults = Faults::default();
    // Each of two teams encounters the regions.
    let expected = [
        ("main -- OMP teams from line 6", 4, 1),
        ("main -- OMP parallel region from line 8", 8, 2),
        ("main -- OMP teams from line 10", 4, 1),
        ("main -- OMP parallel region from line 10", 8, 2),
        ("main -- OMP teams from line 12", 4, 1),
    ];
    for level in [1, 2] {
        let at = |it: &Construct| it.level == level;
        let found = constructs(&experiment, REGIONS).into_iter().filter(at);
        // The level was looked at.
        let found: Vec<_> = found.map(|it| Construct { level: 1, ..it }).collect();
        let expected = expected.iter().filter(|it| it.2 == level);
        let expected: Vec<_> = expected.map(|it| (it.0, it.1)).collect();
        let of_level = just(&found, &expected);
        faults.note(of_level.map_err(|wrong| format!("of nesting {level}, {wrong}")));
    }
    let deepest = constructs(&experiment, REGIONS);
    faults.unless(deepest.iter().all(|it| it.level <= 2), || {
        "a region is at level 3".into()
    });
    let tree = Tree::of(&experiment);
    let [first, inner, second, other, last] = expected.map(|(name, ..)| name);
    // 2 x 5 ms in each of four rounds, in the region that is executed by one thread or two.
    for path in [
        &["main", first, "busy"][..],
        &["main", first, inner, "busy"],
        &["main", second, other, "busy"],
        &["main", last, "busy"],
    ] {
        let seconds = tree.seconds(path, "total");
        faults.unless(seconds > 0.015, || {
            format!("{seconds:.3} s under {}", path.join(" / "))
        });
    }
    faults.found()
}

/// libomp's helper threads are no region, and idle but for the target tasks that they run.
pub(crate) fn hidden_helpers(run: &Run) -> Result<(), String> {
    let experiment = run.record().experiment;
    let mut faults = Faults::default();
    for region in constructs(&experiment, REGIONS) {
        faults.unless(region.name.starts_with("main -- "), || {
            format!("{} is a region", region.name)
        });
    }
    for names in Tree::of(&experiment).paths() {
        let runtime = |name: &String| name.contains("libomp") && name.contains("-- OMP");
        faults.unless(!names.iter().any(runtime), || {
            format!("the call tree has {names:?}")
        });
    }
    let found = reports(&experiment, "user", &["-overview", "-thread_list"]);
    for loss in found[0]["losses"].as_array().into_iter().flatten() {
        let place = loss["place"].as_str().unwrap_or_default();
        faults.unless(!place.contains("libomp"), || {
            format!("the advice is on {place}")
        });
    }
    // One of them runs the target region. What is not work is idle.
    let helpers = rows(&found[1])
        .iter()
        .filter(|row| row["kind"] != "initial");
    let sum = |metric: &str| {
        helpers
            .clone()
            .map(|row| value(row, "e", metric))
            .fold(0.0, |sum, it| sum + it)
    };
    let (idle, waits) = (sum("ompidle"), sum("ompwait"));
    faults.unless(idle >= 0.8 * waits, || {
        format!("of {waits:.3} s in which helpers do not work {idle:.3} s are idle")
    });
    faults.found()
}

/// Regions keep their names, levels and counts where records of locks are lost. With one thread the
/// ring is full at the end of each region of `hot_locks`, however busy the machine is: that record
/// is lost in every run. With two threads it is lost in most runs.
pub(crate) fn lost_records(run: &Run) -> Result<(), String> {
    let regions = [
        ("hot_locks -- OMP parallel region from line 7", 3),
        ("after_a -- OMP parallel region from line 10", 3),
        ("after_b -- OMP parallel region from line 13", 3),
    ];
    let mut faults = Faults::default();
    for threads in ["1", "2"] {
        let experiment = run.with_threads(threads).record().experiment;
        faults.note(just(&constructs(&experiment, REGIONS), &regions));
    }
    faults.found()
}

/// Regions keep their names, levels and counts where records of regions are lost. Whether they are
/// lost depends on how busy the machine is. So `collect` is stopped while the program executes the
/// small regions, which takes one thread 0.03 s; the program works for 0.3 s before and after them.
pub(crate) fn many_small(run: &Run) -> Result<(), String> {
    let regions = [
        ("many_small -- OMP parallel region from line 7", 60_000),
        ("after -- OMP parallel region from line 10", 5),
    ];
    let (command, experiment) = run.collected(&[]);
    let (mut begin, mut stopped) = (None, false);
    let stops = Duration::from_millis(150)..Duration::from_millis(500);
    let watched = watch(command, |collect| {
        if begin.is_none() && runs_a_program(collect) {
            begin = Some(Instant::now());
        }
        let stop = begin.is_some_and(|begin| stops.contains(&begin.elapsed()));
        if stop != stopped {
            signal(collect, if stop { "STOP" } else { "CONT" });
            stopped = stop;
        }
        Ok(())
    });
    assert!(watched.is_ok_and(|it| it.status == 0), "the run failed");
    just(&constructs(&experiment, REGIONS), &regions)
}

/// Whether `collect` has started the case's program.
fn runs_a_program(process: &Child) -> bool {
    let file = |path: String| fs::read_to_string(path).unwrap_or_default();
    let id = process.id();
    let children = file(format!("/proc/{id}/task/{id}/children"));
    let mut names = children
        .split_whitespace()
        .map(|child| file(format!("/proc/{child}/comm")));
    names.any(|name| name.trim() == PROGRAM)
}

fn signal(process: &Child, name: &str) {
    let line = format!("kill -{name} {}", process.id());
    let sent = Command::new("sh").args(["-c", &line]).status();
    assert!(sent.is_ok_and(|status| status.success()), "{line}");
}

/// `main` is in the call tree, though it ends by a jump.
pub(crate) fn main_jumps(run: &Run) -> Result<(), String> {
    let experiment = run.record().experiment;
    let tree = Tree::of(&experiment);
    let path = ["main", "run", "run -- OMP parallel region from line 3"];
    let (all, under) = (
        tree.seconds(&path[2..], "total"),
        tree.seconds(&path, "total"),
    );
    if all > 0.0 && under > 0.99 * all {
        return Ok(());
    }
    Err(format!(
        "of {all:.3} s of the region {under:.3} s are under main and run"
    ))
}

/// A function that ends in its directive, or in a call, is on the stacks of what it called, unless two
/// ways lead there.
pub(crate) fn function_ends(run: &Run) -> Result<(), String> {
    let experiment = run.record().experiment;
    let mut faults = Faults::default();
    let region = |name: &str, line: u32| format!("{name} -- OMP parallel region from line {line}");
    let (a, inner) = (region("run_a", 15), region("inner", 20));
    let (odd, even) = (region("two", 28), region("two", 31));
    let regions = constructs(&experiment, REGIONS);
    let expected: [(&str, u64); 4] = [(&a, 40), (&inner, 40), (&odd, 20), (&even, 20)];
    faults.note(just(&regions, &expected));
    let tree = Tree::of(&experiment);
    let ways: [&[&str]; 6] = [
        &["main", "run_a", &a],
        &["main", "outer", "middle", "inner", &inner],
        &["main", "two", &odd],
        &["main", "two", &even],
        &["main", "inner_work", "burn", "work"],
        &["main", "either", "<tail call>", "shared", "work"],
    ];
    for way in ways {
        let seconds = tree.seconds(way, "total");
        faults.unless(seconds > 0.0, || {
            format!("no time under {}", way.join(" / "))
        });
    }
    let guessed = tree.paths().into_iter().find(|path| {
        let last = path.last().map_or("", String::as_str);
        ["left", "right"].contains(&last)
    });
    faults.unless(guessed.is_none(), || format!("{guessed:?} is a guess"));
    faults.found()
}

/// Untied tasks are counted exactly, each under its creator.
pub(crate) fn untied(run: &Run) -> Result<(), String> {
    let experiment = run.record().experiment;
    let mut faults = Faults::default();
    let region = "start -- OMP parallel region from line 30";
    faults.note(just(&constructs(&experiment, REGIONS), &[(region, 1)]));
    // Three children of each node of 50 trees with five levels.
    let (inner, first) = (
        "tree -- OMP task from line 21",
        "start -- OMP task from line 32",
    );
    let all = 50 * (3 + 9 + 27 + 81 + 243);
    let tasks = constructs(&experiment, TASKS);
    faults.note(just(&tasks, &[(inner, all), (first, 1)]));
    for task in tasks.iter().filter(|task| task.name == inner) {
        let created = task.row["created"].as_array().into_iter().flatten();
        let mut created: Vec<_> = created
            .map(|by| (name(by), by["instances"].as_u64()))
            .collect();
        created.sort();
        let expected = [(first, 150), (inner, all - 150)].map(|(by, n)| (by.to_owned(), Some(n)));
        faults.unless(created == expected, || {
            format!("{inner} is created by {created:?}")
        });
    }
    faults.found()
}

/// Combined constructs stand at their directive, however short their loops are.
pub(crate) fn target_loops(run: &Run) -> Result<(), String> {
    let experiment = run.record().experiment;
    let mut faults = Faults::default();
    let regions = constructs(&experiment, REGIONS);
    let at = |region: &Construct| region.row["line"].as_u64();
    let mut lines: Vec<_> = regions.iter().map(at).collect();
    lines.sort_unstable();
    lines.dedup();
    faults.unless(lines == [Some(5), Some(12)], || {
        format!("the directives are at the lines {lines:?}")
    });
    faults.found()
}

/// The callers of a function with a large frame are known, by each of its two ways, in its serial code
/// as in its region.
pub(crate) fn large_frame(run: &Run) -> Result<(), String> {
    let experiment = run.record().experiment;
    let mut faults = Faults::default();
    let region = "large -- OMP parallel region from line 18";
    faults.note(just(&constructs(&experiment, REGIONS), &[(region, 50)]));
    let tree = Tree::of(&experiment);
    for way in ["one_way", "other_way"] {
        for inside in ["fill", region] {
            let path = ["main", way, "large", inside];
            faults.unless(tree.seconds(&path, "total") > 0.0, || {
                format!("no time under {}", path.join(" / "))
            });
        }
    }
    let [all, cut] = [["<Total>"], ["<Truncated-stack>"]].map(|path| tree.seconds(&path, "total"));
    faults.unless(cut < 0.02 * all, || {
        format!("{cut:.3} s of {all:.3} s have truncated stacks")
    });
    faults.found()
}

/// Each instantiation of a template has rows of its own.
pub(crate) fn templates(run: &Run) -> Result<(), String> {
    let experiment = run.record().experiment;
    let mut faults = Faults::default();
    // Part of the function's name, line, instances.
    let mut rows_are = |list: &str, expected: &[(&str, u64, u64)]| {
        let found = constructs(&experiment, list);
        let has = |&(function, line, instances): &(&str, u64, u64)| {
            let is = |it: &&Construct| {
                it.name.contains(function)
                    && it.row["line"] == line
                    && it.instances == Some(instances)
            };
            found.iter().filter(is).count() == 1
        };
        faults.unless(
            found.len() == expected.len() && expected.iter().all(has),
            || {
                let row = |it: &Construct| format!("\n  {:?} of {}", it.instances, it.name);
                let rows: String = found.iter().map(row).collect();
                format!("the rows are{rows}\nand not {expected:?}")
            },
        );
    };
    let regions = [
        ("f<double>", 5, 1),
        ("f<float>", 5, 1),
        ("g<double>", 13, 1),
        ("h<double>", 23, 1),
    ];
    rows_are(REGIONS, &regions);
    rows_are(TASKS, &[("h<double>", 26, 4)]);
    faults.found()
}

/// The region of a main program is at the directive's line, though it has a clause.
pub(crate) fn main_program_clause(run: &Run) -> Result<(), String> {
    let experiment = run.record().experiment;
    let regions = [
        ("main program -- OMP parallel region from line 22", 1),
        ("sub1 -- OMP parallel region from line 13", 1),
    ];
    just(&constructs(&experiment, REGIONS), &regions)
}
