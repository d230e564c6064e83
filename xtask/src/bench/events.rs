//! What OpenMP's constructs cost more while they are recorded, in the program itself.

use std::path::Path;

use super::cpu::Waits;
use super::results::{Goal, Measure};
use super::run::Bench;
use super::tools::{BARE, COLLECT, FLOOR, HPCRUN, Rate, Tool};
use super::usage::measure;
use crate::Outcome;

/// A construct that the program of the library's own bench times.
struct Construct {
    /// What the program calls it.
    name: &'static str,
    /// What it is.
    words: &'static str,
    /// The goal of its extra nanoseconds.
    goal: Option<f64>,
}

const fn construct(name: &'static str, words: &'static str, goal: Option<f64>) -> Construct {
    Construct { name, words, goal }
}

/// What the time of a record is told by.
const LOCK: &str = "a lock's round trip: three records";

/// On LLVM's runtime, by OMPT.
const LLVM: [Construct; 10] = [
    construct("lock", LOCK, None),
    construct("critical", "a critical section: three records", None),
    construct("task", "an explicit task", Some(60.0)),
    construct("taskwait", "a wait: two records", Some(30.0)),
    construct(
        "region-1-threads-depth-2",
        "a region of one thread, 2 calls deep",
        None,
    ),
    construct(
        "region-1-threads-depth-20",
        "a region of one thread, 20 calls deep",
        None,
    ),
    construct(
        "region-1-threads-depth-100",
        "a region of one thread, 100 calls deep",
        None,
    ),
    construct(
        "region-2-threads-depth-2",
        "a region, 2 calls deep",
        Some(100.0),
    ),
    construct(
        "region-2-threads-depth-20",
        "a region, 20 calls deep",
        Some(150.0),
    ),
    construct(
        "region-2-threads-depth-100",
        "a region, 100 calls deep",
        Some(400.0),
    ),
];

/// Of any construct on GNU's runtime.
const INTERPOSED: Option<f64> = Some(60.0);

/// On GNU's runtime, by interposition.
const GNU: [Construct; 9] = [
    construct("lock", "a lock's round trip, libgomp", INTERPOSED),
    construct("critical", "a critical section, libgomp", INTERPOSED),
    construct("task", "an explicit task, libgomp", INTERPOSED),
    construct("taskwait", "a wait, libgomp", INTERPOSED),
    construct(
        "barrier-2-threads",
        "a barrier of two threads, libgomp",
        INTERPOSED,
    ),
    construct("ordered-chunk", "an ordered chunk, libgomp", INTERPOSED),
    construct("dynamic-chunk", "a dynamic chunk, libgomp", INTERPOSED),
    construct(
        "region-1-threads-depth-2",
        "a region of one thread, libgomp",
        INTERPOSED,
    ),
    construct(
        "region-2-threads-apart",
        "a region of two threads, at six distances from the last, libgomp",
        None,
    ),
];

/// Constructs by the nanoseconds that each takes, in one run.
type Times = Vec<(String, f64)>;

/// Each round times the constructs bare, under every tool that records them, and with the least
/// that such a tool can do.
pub(super) fn constructs(bench: &mut Bench) -> Outcome {
    const SOURCE: &str = "collector/runtime/benches/cost.c";
    let llvm = [bench.compiled(SOURCE, &[])?.display().to_string()];
    let gnu = [bench.compiled_by_gcc(SOURCE, &[])?.display().to_string()];
    let floor = bench.floor()?;
    let tools = bench.present(&[HPCRUN, COLLECT]);
    // hpcrun has no events of a runtime without OMPT.
    let runtimes: [(_, &[Construct], &[Tool]); 2] =
        [(&llvm, &LLVM, &tools), (&gnu, &GNU, &[COLLECT])];
    for round in 1..=bench.runs {
        bench.progress(&format!("round {round}"));
        for (program, constructs, tools) in runtimes {
            let bare = times(BARE, program, None, bench.folder())?;
            for &tool in tools {
                let with = bench.of_tool(tool, |folder| times(tool, program, None, folder))?;
                let with = with.unwrap_or_default();
                compare(bench, constructs, (tool.name, &bare, &with))?;
            }
            let least = times(BARE, program, Some(&floor), bench.folder())?;
            compare(bench, constructs, (FLOOR, &bare, &least))?;
        }
    }
    Ok(())
}

/// The constructs' times in one run of the program, with a library that comes before all others.
fn times(tool: Tool, program: &[String], preload: Option<&Path>, folder: &Path) -> Outcome<Times> {
    let mut command = tool.command(Rate::Hundred, program, folder);
    Waits::Spin.pin(&mut command, 2);
    if let Some(library) = preload {
        command.env("LD_PRELOAD", library);
    }
    Ok(parse(&measure(&mut command, folder)?.stdout))
}

/// Adds what each construct takes longer by one way to run it than bare.
fn compare(
    bench: &mut Bench,
    constructs: &[Construct],
    (name, bare, with): (&'static str, &Times, &Times),
) -> Outcome {
    for construct in constructs {
        let of = |times: &Times| {
            let found = times.iter().find(|(known, _)| known == construct.name);
            found.map(|(_, nanoseconds)| *nanoseconds)
        };
        let (Some(bare), Some(with)) = (of(bare), of(with)) else {
            continue;
        };
        let what = Measure {
            name: &format!("extra time of {}", construct.words),
            unit: "ns",
            goal: construct.goal.map(Goal::AtMost),
        };
        bench.add("events", &what, name, with - bare)?;
        if construct.words == LOCK && name == COLLECT.name {
            let record = Measure {
                name: "time of a record, a third of a lock's",
                unit: "ns",
                goal: None,
            };
            bench.add("events", &record, name, (with - bare) / 3.0)?;
        }
    }
    Ok(())
}

/// Lines of a name and a number.
fn parse(output: &str) -> Vec<(String, f64)> {
    let line = |line: &str| {
        let (name, value) = line.split_once(' ')?;
        Some((name.to_owned(), value.parse().ok()?))
    };
    output.lines().filter_map(line).collect()
}
