//! Constructs by the outlined functions that are their bodies: names, lines and callers.

use std::path::Path;

use crate::run::Run;
use crate::shown::{Construct, Faults, Tree, constructs, ends_with, just};

const REGIONS: &str = "-OMP_preg";
const TASKS: &str = "-OMP_task";

/// Checks that the list of regions, whatever their levels, and that of tasks have these constructs
/// alone.
fn constructs_are(faults: &mut Faults, experiment: &Path, expected: &[(&str, u64)]) {
    let flat = |row: Construct| Construct { level: 1, ..row };
    let found = [REGIONS, TASKS].map(|list| constructs(experiment, list));
    let found: Vec<Construct> = found.into_iter().flatten().map(flat).collect();
    faults.note(just(&found, expected));
}

/// Checks that the call tree has these last names of a path, and no name with one of `symbols`.
fn tree_is(faults: &mut Faults, experiment: &Path, expected: &[&[&str]], symbols: &[&str]) {
    let paths = Tree::of(experiment).paths();
    for path in expected {
        faults.unless(paths.iter().any(|names| ends_with(names, path)), || {
            format!("the call tree has no {}", path.join(" / "))
        });
    }
    for name in paths.iter().flatten() {
        faults.unless(!symbols.iter().any(|symbol| name.contains(symbol)), || {
            format!("the call tree has {name}")
        });
    }
}

/// Constructs whose bodies are equal are told apart, though gcc makes one code of them.
pub(crate) fn equal_bodies(run: &Run) -> Result<(), String> {
    let experiment = run.record().experiment;
    let mut faults = Faults::default();
    let expected = [
        ("regions -- OMP parallel region from line 11", 3),
        ("regions -- OMP parallel region from line 19", 6),
        ("tasks -- OMP parallel region from line 27", 1),
        ("both -- OMP parallel region from line 44", 1),
        ("tasks -- OMP task from line 30", 1),
        ("tasks -- OMP task from line 32", 1),
        ("tasks -- OMP task from line 36", 2),
        ("tasks -- OMP task from line 38", 2),
        ("both -- OMP task from line 47", 1),
    ];
    constructs_are(&mut faults, &experiment, &expected);
    let in_region = |line| format!("regions -- OMP parallel region from line {line}");
    let (first, second) = (in_region(11), in_region(19));
    let barrier = "<OMP explicit barrier>";
    let paths: [&[&str]; 8] = [
        &["regions", &first, "work"],
        &["regions", &first, barrier],
        &["regions", &second, "work"],
        &["regions", &second, barrier],
        &[expected[4].0, expected[5].0],
        &[expected[6].0, expected[7].0],
        &["both", expected[3].0],
        &["both", expected[8].0],
    ];
    tree_is(&mut faults, &experiment, &paths, &[]);
    for path in Tree::of(&experiment).paths() {
        let regions = path.iter().filter(|name| name.contains("OMP parallel"));
        let others = [(4, 7), (6, 5)].map(|(task, other)| [expected[task].0, expected[other].0]);
        let mixed = others.iter().any(|names| ends_with(&path, names));
        faults.unless(regions.count() <= 1 && !mixed, || {
            format!("the call tree has {}", path.join(" / "))
        });
    }
    faults.found()
}

/// Constructs in functions within functions (GNU C) have the names of the source.
pub(crate) fn nested_functions(run: &Run) -> Result<(), String> {
    let experiment = run.record().experiment;
    let mut faults = Faults::default();
    let expected = [
        ("main::count -- OMP parallel region from line 11", 2),
        ("main::count -- OMP task from line 15", 2),
        ("main::once -- OMP parallel region from line 24", 1),
    ];
    constructs_are(&mut faults, &experiment, &expected);
    let paths: [&[&str]; 1] = [&["main", "main::count", expected[0].0, expected[1].0]];
    tree_is(
        &mut faults,
        &experiment,
        &paths,
        &["count.", "once.", "_omp_fn"],
    );
    faults.found()
}

/// Constructs within constructs of an internal procedure belong to that procedure.
pub(crate) fn nested_procedures(run: &Run) -> Result<(), String> {
    let experiment = run.record().experiment;
    let mut faults = Faults::default();
    let expected = [
        ("main program::count -- OMP parallel region from line 14", 2),
        ("main program::count -- OMP task from line 17", 2),
        ("main program::count -- OMP parallel region from line 19", 2),
    ];
    constructs_are(&mut faults, &experiment, &expected);
    let names = expected.map(|(name, _)| name);
    let paths: [&[&str]; 1] = [&["main program::count", names[0], names[1], names[2]]];
    tree_is(&mut faults, &experiment, &paths, &["count.", "_omp_fn"]);
    faults.found()
}

/// Constructs whose line in the debug information is that of what they begin with are at their
/// directives.
pub(crate) fn first_directives(run: &Run) -> Result<(), String> {
    let experiment = run.record().experiment;
    let mut faults = Faults::default();
    let regions = [
        ("team -- OMP parallel region from line 11", 1),
        ("loops -- OMP parallel region from line 21", 1),
        ("league -- OMP parallel region from line 32", 1),
    ];
    faults.note(just(&constructs(&experiment, REGIONS), &regions));
    let tasks = constructs(&experiment, TASKS);
    let names: Vec<&str> = tasks.iter().map(|task| task.name.as_str()).collect();
    faults.unless(names == ["loops -- OMP taskloop from line 22"], || {
        format!("{names:?} instead of one taskloop at line 22")
    });
    let target = "league -- OMP target region from line 32";
    let paths: [&[&str]; 1] = [&["league", target, regions[2].0]];
    tree_is(&mut faults, &experiment, &paths, &["_omp_fn"]);
    faults.found()
}
