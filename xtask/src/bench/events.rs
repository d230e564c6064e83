//! What OpenMP's constructs cost more while they are recorded, in the program itself.

use std::path::Path;

use super::Bench;
use super::cpu::Waits;
use super::results::{Goal, Measure};
use super::tools::{BARE, COLLECT, HPCRUN, Rate, Tool};
use super::usage::measure;
use crate::Outcome;

/// What the program of the library's own bench times, and the goal of its extra nanoseconds.
const GOALS: [(&str, &str, Option<f64>); 6] = [
    ("lock", "a lock's round trip: three records", Some(45.0)),
    ("task", "an explicit task", Some(60.0)),
    ("taskwait", "a wait: two records", Some(30.0)),
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

/// Each round times the constructs bare and under every tool that records them.
pub(super) fn constructs(bench: &mut Bench) -> Outcome {
    let program = bench.compiled("collector/runtime/benches/cost.c", &[])?;
    let program = [program.display().to_string()];
    let tools = bench.present(&[HPCRUN, COLLECT]);
    for round in 1..=bench.runs {
        let run = |tool: Tool, folder: &Path| {
            let mut command = tool.command(Rate::Hundred, &program, folder);
            Waits::Spin.pin(&mut command, 2);
            let used = measure(&mut command, folder)?;
            Ok::<_, String>(parse(&used.stdout))
        };
        let bare = run(BARE, bench.folder())?;
        bench.progress(&format!("round {round}"));
        for &tool in &tools {
            let Some(with) = bench.of_tool(tool, |folder| run(tool, folder))? else {
                continue;
            };
            for (name, words, goal) in GOALS {
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
                if name == "lock" && tool == COLLECT {
                    let record = Measure {
                        name: "time of a record, a third of a lock's",
                        unit: "ns",
                        goal: Some(Goal::AtMost(15.0)),
                    };
                    bench.add("events", &record, tool.name, (with - bare) / 3.0)?;
                }
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
