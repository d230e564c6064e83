//! The extra time of OpenMP constructs in the program while they are recorded.

use std::path::Path;

use super::cpu::Waits;
use super::results::{Goal, Measure};
use super::run::Bench;
use super::tools::{BARE, COLLECT, FLOOR, HPCRUN, Rate, Tool};
use super::usage::measure;
use crate::Outcome;

/// A construct that the library's bench program times.
struct Construct {
    /// Its name in the program's output.
    name: &'static str,
    /// Its description in tables.
    words: &'static str,
    /// The goal for its extra time, in nanoseconds.
    goal: Option<f64>,
}

const fn construct(name: &'static str, words: &'static str, goal: Option<f64>) -> Construct {
    Construct { name, words, goal }
}

/// The constructs on LLVM's runtime, recorded by OMPT.
const LLVM: [Construct; 10] = [
    construct("lock", "a lock's round trip", Some(40.0)),
    construct("critical", "a critical section", Some(40.0)),
    construct("task", "an explicit task", Some(60.0)),
    construct("taskwait", "a wait", Some(30.0)),
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

/// The goal for any construct on libgomp, in nanoseconds.
const INTERPOSED: Option<f64> = Some(60.0);

/// The constructs on libgomp, recorded by interposition.
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

/// The time of each construct in one run, in nanoseconds.
type Times = Vec<(String, f64)>;

/// Times the constructs. Each round runs them bare, under every tool that records them, and with
/// the minimal tool.
pub(super) fn constructs(bench: &mut Bench) -> Outcome {
    const SOURCE: &str = "collector/runtime/benches/cost.c";
    let llvm = [bench.compiled(SOURCE, &[])?.display().to_string()];
    let gnu = [bench.compiled_by_gcc(SOURCE, &[])?.display().to_string()];
    let floor = bench.floor()?;
    let tools = bench.present(&[HPCRUN, COLLECT]);
    // hpcrun has no events from a runtime without OMPT.
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

/// The constructs' times in one run of the program, with a preloaded library if one is given.
fn times(tool: Tool, program: &[String], preload: Option<&Path>, folder: &Path) -> Outcome<Times> {
    let mut command = tool.command(Rate::Hundred, program, folder);
    Waits::Spin.pin(&mut command, 2);
    if let Some(library) = preload {
        command.env("LD_PRELOAD", library);
    }
    Ok(parse(&measure(&mut command, folder)?.stdout))
}

/// Adds each construct's extra time over the bare run.
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
    }
    Ok(())
}

/// Reads lines of a name and a number.
fn parse(output: &str) -> Vec<(String, f64)> {
    let line = |line: &str| {
        let (name, value) = line.split_once(' ')?;
        Some((name.to_owned(), value.parse().ok()?))
    };
    output.lines().filter_map(line).collect()
}
