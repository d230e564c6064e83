//! What OpenMP's constructs cost more while they are recorded, in the program itself.

use std::path::Path;

use super::Bench;
use super::cpu::Waits;
use super::results::{Goal, Measure};
use super::tools::{BARE, COLLECT, HPCRUN, Rate, Tool};
use super::usage::measure;
use crate::Outcome;

/// A construct that the program of the library's own bench times: its name there, what it is, and
/// the goal of its extra nanoseconds.
type Construct = (&'static str, &'static str, Option<f64>);

/// What the time of a record is told by.
const LOCK: &str = "a lock's round trip: three records";

/// On LLVM's runtime, by OMPT.
const LLVM: [Construct; 10] = [
    ("lock", LOCK, Some(45.0)),
    ("critical", "a critical section: three records", None),
    ("task", "an explicit task", Some(60.0)),
    ("taskwait", "a wait: two records", Some(30.0)),
    (
        "region-1-threads-depth-2",
        "a region of one thread, 2 calls deep",
        None,
    ),
    (
        "region-1-threads-depth-20",
        "a region of one thread, 20 calls deep",
        None,
    ),
    (
        "region-1-threads-depth-100",
        "a region of one thread, 100 calls deep",
        None,
    ),
    (
        "region-2-threads-depth-2",
        "a region, 2 calls deep",
        Some(100.0),
    ),
    (
        "region-2-threads-depth-20",
        "a region, 20 calls deep",
        Some(150.0),
    ),
    (
        "region-2-threads-depth-100",
        "a region, 100 calls deep",
        Some(400.0),
    ),
];

/// Of any construct on GNU's runtime.
const INTERPOSED: Option<f64> = Some(60.0);

/// On GNU's runtime, by interposition.
const GNU: [Construct; 8] = [
    ("lock", "a lock's round trip, libgomp", INTERPOSED),
    ("critical", "a critical section, libgomp", INTERPOSED),
    ("task", "an explicit task, libgomp", INTERPOSED),
    ("taskwait", "a wait, libgomp", INTERPOSED),
    ("ordered-chunk", "an ordered chunk, libgomp", INTERPOSED),
    ("dynamic-chunk", "a dynamic chunk, libgomp", INTERPOSED),
    (
        "region-1-threads-depth-2",
        "a region of one thread, libgomp",
        INTERPOSED,
    ),
    (
        "region-2-threads-depth-2",
        "a region of two threads, libgomp",
        INTERPOSED,
    ),
];

/// Each round times the constructs bare and under every tool that records them.
pub(super) fn constructs(bench: &mut Bench) -> Outcome {
    const SOURCE: &str = "collector/runtime/benches/cost.c";
    let llvm = bench.compiled(SOURCE, &[])?.display().to_string();
    let gnu = bench.compiled_by_gcc(SOURCE)?.display().to_string();
    let tools = bench.present(&[HPCRUN, COLLECT]);
    for round in 1..=bench.runs {
        bench.progress(&format!("round {round}"));
        beside_bare(bench, &tools, &llvm, &LLVM)?;
        // hpcrun has no events of a runtime without OMPT.
        beside_bare(bench, &[COLLECT], &gnu, &GNU)?;
    }
    Ok(())
}

/// Times these constructs once bare and once under each tool.
fn beside_bare(
    bench: &mut Bench,
    tools: &[Tool],
    program: &str,
    constructs: &[Construct],
) -> Outcome {
    let program = [program.to_owned()];
    let run = |tool: Tool, folder: &Path| {
        let mut command = tool.command(Rate::Hundred, &program, folder);
        Waits::Spin.pin(&mut command, 2);
        let used = measure(&mut command, folder)?;
        Ok::<_, String>(parse(&used.stdout))
    };
    let bare = run(BARE, bench.folder())?;
    for &tool in tools {
        let Some(with) = bench.of_tool(tool, |folder| run(tool, folder))? else {
            continue;
        };
        for (name, words, goal) in constructs {
            let of = |times: &[(String, f64)]| {
                let found = times.iter().find(|(known, _)| known == name);
                found.map(|(_, nanoseconds)| *nanoseconds)
            };
            let (Some(bare), Some(with)) = (of(&bare), of(&with)) else {
                continue;
            };
            let what = Measure {
                name: &format!("extra time of {words}"),
                unit: "ns",
                goal: goal.map(Goal::AtMost),
            };
            bench.add("events", &what, tool.name, with - bare)?;
            if *words == LOCK && tool == COLLECT {
                let record = Measure {
                    name: "time of a record, a third of a lock's",
                    unit: "ns",
                    goal: Some(Goal::AtMost(15.0)),
                };
                bench.add("events", &record, tool.name, (with - bare) / 3.0)?;
            }
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
