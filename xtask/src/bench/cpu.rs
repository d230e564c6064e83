//! The cost of recording a real application: CPU time and wall time relative to the bare program.

use std::path::Path;
use std::process::Command;

use super::results::{Goal, Measure};
use super::run::Bench;
use super::tools::{self, BARE, COLLECT, FLOOR, PERF, Rate, Tool};
use super::usage::{Usage, measure};
use crate::Outcome;

/// How the threads wait, set by environment variables.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Waits {
    Spin,
    Sleep,
}

impl Waits {
    /// Fixes the settings that runtimes choose by themselves otherwise.
    pub(super) fn pin(self, command: &mut Command, threads: usize) {
        command
            .env("OMP_NUM_THREADS", threads.to_string())
            .env("OMP_DYNAMIC", "false")
            .env_remove("KMP_BLOCKTIME")
            .env_remove("GOMP_SPINCOUNT")
            .env(
                "OMP_WAIT_POLICY",
                match self {
                    Waits::Spin => "active",
                    Waits::Sleep => "passive",
                },
            );
    }

    const fn words(self) -> &'static str {
        match self {
            Waits::Spin => "waits that spin",
            Waits::Sleep => "waits that sleep",
        }
    }
}

/// Threads that spin, at 1 kHz with every peer and at 100 Hz with the kernel's floor.
pub(super) fn spinning(bench: &mut Bench) -> Outcome {
    let program = bench.application(6_000)?;
    let floor = Some(Goal::Above(0.01, PERF.name));
    rounds(bench, "cpu", Waits::Spin, Rate::Kilohertz, &program, floor)?;
    let program = bench.application(6_000)?;
    rounds(bench, "cpu", Waits::Spin, Rate::Hundred, &program, None)
}

/// Threads that sleep while they wait: tens of thousands of context switches a second.
pub(super) fn sleeping(bench: &mut Bench) -> Outcome {
    let program = bench.application(3_000)?;
    let peer = Some(Goal::Above(0.0, tools::PERF_G.name));
    rounds(
        bench,
        "sleep",
        Waits::Sleep,
        Rate::Kilohertz,
        &program,
        peer,
    )
}

/// Each round runs every tool once, so that other load on the machine affects all of them. A
/// tool's ratio is to the bare run of the same round.
fn rounds(
    bench: &mut Bench,
    group: &str,
    waits: Waits,
    rate: Rate,
    program: &[String],
    goal: Option<Goal>,
) -> Outcome {
    let tools = match rate {
        Rate::Kilohertz => bench.present(&tools::ALL),
        Rate::Hundred => vec![PERF, COLLECT],
    };
    // The minimal tool is made for the repository's programs.
    let floor = if bench.program.is_empty() {
        Some(bench.floor()?)
    } else {
        None
    };
    for round in 1..=bench.runs {
        let run = |tool: Tool, folder: &Path| {
            let mut command = tool.command(rate, program, folder);
            waits.pin(&mut command, 2);
            measure(&mut command, folder)
        };
        let bare = run(BARE, bench.folder())?;
        let ratio = |tool, used: Usage| Ratio {
            tool,
            cpu: used.cpu / bare.cpu,
            wall: used.wall / bare.wall,
        };
        let mut ratios = Vec::new();
        if let Some(floor) = &floor {
            let mut command = BARE.command(rate, program, bench.folder());
            waits.pin(&mut command, 2);
            let used = measure(command.env("LD_PRELOAD", floor), bench.folder())?;
            ratios.push(ratio(FLOOR, used));
        }
        for &tool in &tools {
            let used = bench.of_tool(tool, |folder| run(tool, folder))?;
            ratios.extend(used.map(|used| ratio(tool.name, used)));
        }
        let printed: Vec<String> = ratios
            .iter()
            .map(|ratio| format!("{} {:.3}", ratio.tool, ratio.cpu))
            .collect();
        bench.progress(&format!(
            "{}, {}, round {round}: {:.2} s of CPU time; {}",
            waits.words(),
            rate.words(),
            bare.cpu,
            printed.join(", ")
        ));
        let conditions = format!("{}, {}", waits.words(), rate.words());
        add(bench, group, &conditions, ratios, goal.as_ref())?;
    }
    Ok(())
}

/// A tool's cost over the bare run of the same round.
struct Ratio {
    tool: &'static str,
    cpu: f64,
    wall: f64,
}

/// Adds a round's ratios. The goal is for CPU time.
fn add(
    bench: &mut Bench,
    group: &str,
    conditions: &str,
    ratios: Vec<Ratio>,
    goal: Option<&Goal>,
) -> Outcome {
    let cpu = Measure {
        name: &format!("CPU time over bare, {conditions}"),
        unit: "ratio",
        goal: goal.cloned(),
    };
    let wall = Measure {
        name: &format!("wall time over bare, {conditions}"),
        unit: "ratio",
        goal: None,
    };
    for ratio in ratios {
        bench.add(group, &cpu, ratio.tool, ratio.cpu)?;
        bench.add(group, &wall, ratio.tool, ratio.wall)?;
    }
    Ok(())
}
