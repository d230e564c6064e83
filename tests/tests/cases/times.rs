//! Times by code location and by cause, compared with what the program measured in the same run.

use std::path::Path;

use end_to_end::{reports, rows, value};
use serde_json::Value;

use crate::run::{Recorded, Run};
use crate::shown::{Faults, Tree, constructs, name, numbers};

/// The share of a body's work that may be the runtime's.
const OVERHEAD: f64 = 0.25;

/// Checks that the work of a region or task is not shown as the runtime's.
fn no_overhead(faults: &mut Faults, row: &Value) {
    let (work, overhead) = (value(row, "e", "ompwork"), value(row, "e", "ompovhd"));
    faults.unless(overhead < OVERHEAD * work, || {
        format!(
            "{}: {overhead:.3} s of {work:.3} s of work are overhead",
            name(row)
        )
    });
}

/// Compares the elapsed times of all regions, in the order of their lines.
fn elapsed(faults: &mut Faults, experiment: &Path, truth: &[f64]) {
    let mut regions = constructs(experiment, "-OMP_preg");
    regions.sort_by_key(|region| region.row["line"].as_u64());
    faults.unless(regions.len() == truth.len(), || {
        format!("{} regions instead of {}", regions.len(), truth.len())
    });
    for (region, truth) in regions.iter().zip(truth) {
        let elapsed = region.row["exclusive"]["elapsed"].as_f64();
        let elapsed = elapsed.expect("regions take time");
        faults.near(&region.name, elapsed, *truth, 0.1);
    }
}

/// Tasks whose bodies jump into the C library work there; the runtime does not.
pub(crate) fn library_jumps(run: &Run) -> Result<(), String> {
    let Recorded {
        outcome,
        experiment,
    } = run.record();
    let [copy, sort] = numbers(&outcome.stdout)[..] else {
        panic!("the program prints two times: {}", outcome.stdout);
    };
    let mut faults = Faults::default();
    elapsed(&mut faults, &experiment, &[sort, copy]);
    for task in constructs(&experiment, "-OMP_task") {
        no_overhead(&mut faults, &task.row);
    }
    let tree = Tree::of(&experiment);
    for task in [
        "sort_chunks -- OMP task from line 13",
        "copy_chunks -- OMP task from line 21",
    ] {
        let (all, runtime) = (
            tree.seconds(&[task], "ompwork"),
            tree.seconds(&[task, "<OMP overhead>"], "ompwork"),
        );
        faults.unless(all > 0.0 && runtime < OVERHEAD * all, || {
            format!("{task}: {runtime:.3} s of {all:.3} s of work are <OMP overhead>")
        });
    }
    faults.found()
}

/// Loops that became `memset` and `memcpy` are work of their regions, and the `memset` of `main` is
/// serial work.
pub(crate) fn first_touch(run: &Run) -> Result<(), String> {
    let Recorded {
        outcome,
        experiment,
    } = run.record();
    let [first_touch, memset, copy] = numbers(&outcome.stdout)[..] else {
        panic!("the program prints three times: {}", outcome.stdout);
    };
    let mut faults = Faults::default();
    elapsed(&mut faults, &experiment, &[first_touch, copy]);
    for region in constructs(&experiment, "-OMP_preg") {
        no_overhead(&mut faults, &region.row);
    }
    let tree = Tree::of(&experiment);
    let of_main = |path: &[&str]| {
        let path: Vec<&str> = ["main"].iter().chain(path).copied().collect();
        tree.seconds(&path, "total")
    };
    let serial = of_main(&[]) - of_main(&["first_touch"]) - of_main(&["copy"]);
    faults.near("memset in main", serial, memset, 0.1);
    let runtime = of_main(&["<OMP overhead>"]);
    faults.unless(runtime < OVERHEAD * serial, || {
        format!("{runtime:.3} s of {serial:.3} s of serial code are overhead")
    });
    faults.found()
}

/// Threads without a team are idle. They do not run serial code.
pub(crate) fn small_team(run: &Run) -> Result<(), String> {
    let Recorded {
        outcome,
        experiment,
    } = run.record();
    let found = reports(&experiment, "user", &["-overview"]);
    let parts = found[0]["wall_time"].as_object();
    let parts = parts.expect("the overview says where the wall time went");
    let seconds = |of: &dyn Fn(&str) -> bool| {
        let chosen = parts.iter().filter(|(name, _)| of(name));
        chosen
            .filter_map(|(_, part)| part.as_f64())
            .fold(0.0, |sum, it| sum + it)
    };
    let all = seconds(&|_| true);
    let [wall] = numbers(&outcome.stdout)[..] else {
        panic!("the program prints its time: {}", outcome.stdout);
    };
    let mut faults = Faults::default();
    faults.near("all parts", all, wall, 0.1);
    let serial = seconds(&|name| name == "serial_offcpu");
    faults.unless(serial < 0.05 * all, || {
        format!("serial code off the CPU: {serial:.3} s of {all:.3} s, and there is none")
    });
    // Two of the four threads have no team, but for the first 0.02 s.
    let idle = seconds(&|name| name.contains("idle") || name.contains("team"));
    faults.unless(idle > 0.35 * all, || {
        format!("threads without a team are idle: {idle:.3} s of {all:.3} s, and it is half")
    });
    faults.found()
}

/// The inclusive seconds of a metric by line of a construct.
fn by_line(experiment: &Path, construct: &str, metric: &str) -> Vec<(u32, f64)> {
    let found = reports(experiment, "user", &["-lines"]);
    let of_row = |row: &Value| {
        // `foo -- OMP parallel region from line 9 [symbol], line 14 in "foo.c"`
        let name = row["name"].as_str()?;
        let (_, location) = name.strip_prefix(construct)?.rsplit_once(", line ")?;
        let (line, _) = location.split_once(' ')?;
        Some((line.parse().ok()?, value(row, "i", metric)))
    };
    rows(&found[0]).iter().filter_map(of_row).collect()
}

/// Compares the waits of each line with what the program measured there. Other lines must have
/// none.
fn waits_at(faults: &mut Faults, metric: &str, found: &[(u32, f64)], truth: &[(u32, f64)]) {
    let at = |list: &[(u32, f64)], line: u32| {
        let here = list.iter().filter(|(of, _)| *of == line);
        here.map(|(_, seconds)| seconds)
            .fold(0.0, |sum, it| sum + it)
    };
    let mut lines: Vec<u32> = found.iter().chain(truth).map(|(line, _)| *line).collect();
    lines.sort_unstable();
    lines.dedup();
    for line in lines {
        let what = format!("{metric} at line {line}");
        faults.near(&what, at(found, line), at(truth, line), 0.02);
    }
}

/// The first sum of each line that the program prints: `0: 1.5 …`.
fn printed(text: &str) -> Vec<f64> {
    text.lines().map(|line| numbers(line)[1]).collect()
}

/// Each barrier's waits are at its own line.
pub(crate) fn barrier_lines(run: &Run) -> Result<(), String> {
    let Recorded {
        outcome,
        experiment,
    } = run.record();
    let truth = printed(&outcome.stdout);
    let truth = [(16, truth[0]), (21, truth[1]), (26, truth[2])];
    let region = "step -- OMP parallel region from line 10";
    let mut faults = Faults::default();
    let found = by_line(&experiment, region, "ompebar");
    waits_at(&mut faults, "explicit barrier", &found, &truth);
    faults.found()
}

/// The waits for each lock and critical section are at the line where they begin.
pub(crate) fn lock_lines(run: &Run) -> Result<(), String> {
    let Recorded {
        outcome,
        experiment,
    } = run.record();
    let truth = printed(&outcome.stdout);
    let region = "locks -- OMP parallel region from line 9";
    let mut faults = Faults::default();
    let found = by_line(&experiment, region, "omplkwt");
    waits_at(
        &mut faults,
        "lock wait",
        &found,
        &[(14, truth[0]), (17, truth[1])],
    );
    let found = by_line(&experiment, region, "ompctwt");
    let truth = [(20, truth[2]), (23, truth[3])];
    waits_at(&mut faults, "critical section wait", &found, &truth);
    faults.found()
}

/// The metrics of waits.
const WAITS: [&str; 7] = [
    "ompibar", "ompebar", "omplkwt", "ompctwt", "ompodwt", "ompatwt", "omptskwt",
];

/// Each wait is at its line, whatever it waits for, under the functions that the program calls, and
/// none is in the loader.
pub(crate) fn wait_lines(run: &Run) -> Result<(), String> {
    let Recorded {
        outcome,
        experiment,
    } = run.record();
    let mut faults = Faults::default();
    let found = reports(&experiment, "user", &["-lines"]);
    for line in outcome.stdout.lines() {
        let [line, truth] = numbers(line)[..] else {
            panic!("the program prints lines and times: {}", outcome.stdout);
        };
        let location = format!(", line {line} in \"wait_lines.");
        let here = |row: &&Value| name(row).contains(&location);
        let of_row = |row: &Value| -> f64 { WAITS.map(|it| value(row, "i", it)).iter().sum() };
        let waited: f64 = rows(&found[0]).iter().filter(here).map(of_row).sum();
        faults.near(&format!("waits at line {line}"), waited, truth, 0.02);
    }
    let tree = Tree::of(&experiment);
    let all: f64 = WAITS.map(|it| tree.seconds(&["<Total>"], it)).iter().sum();
    faults.unless(all > 0.0, || "no wait at all".to_owned());
    for metric in WAITS {
        let (all, main) = (
            tree.seconds(&["<Total>"], metric),
            tree.seconds(&["main"], metric),
        );
        faults.unless(main >= 0.999 * all, || {
            format!("{metric}: {main:.6} s of {all:.6} s are under main")
        });
    }
    faults.found()
}

/// Three quarters of the work of tasks that are too short for a sample each are in one function, and
/// nothing to speak of is in the others.
pub(crate) fn task_paths(run: &Run) -> Result<(), String> {
    let found = reports(&run.record().experiment, "user", &["-functions"]);
    let of = |name: &str| -> f64 {
        // gcc calls its copy for these arguments `large.constprop.0`.
        let is = |row: &&Value| row["name"].as_str().is_some_and(|it| it.starts_with(name));
        let found = rows(&found[0]).iter().filter(is);
        found.map(|row| value(row, "e", "ompwork")).sum()
    };
    let (large, small, all) = (of("large"), of("small"), of("<Total>"));
    let mut faults = Faults::default();
    let share = large / (large + small);
    faults.unless((0.69..0.81).contains(&share), || {
        format!("{large} s of work are in large and {small} s in small")
    });
    faults.unless(large + small > 0.85 * all, || {
        format!("of {all} s of work {large} s are in large and {small} s in small")
    });
    faults.found()
}
