//! The time and memory of reports, by the number of samples and of stacks.

use std::path::{Path, PathBuf};
use std::process::Command;

use super::cache;
use super::cpu::Waits;
use super::results::{Goal, Measure};
use super::run::Bench;
use super::terminal::until_shown;
use super::tools::{COLLECT, Rate, built};
use super::usage::{Usage, measure};
use crate::Outcome;
use crate::command::{cargo, run};

/// Experiments: millions of samples, threads, and distinct stacks of the first thread and of the
/// others.
const SHAPES: [(u32, u32, u32); 6] = [
    (1, 8, 2_000),
    (10, 8, 2_000),
    (100, 8, 2_000),
    (10, 8, 20_000),
    (10, 8, 500_000),
    (100, 16, 20_000),
];

/// The goal for the peak memory of a reader, in MiB.
const MOST: f64 = 300.0;

/// The maximum number of runs of long reports.
const LONG: u32 = 3;

/// A word on analyzer's first screen that appears once its numbers are computed; only programs with
/// OpenMP have it.
const SHOWN: &str = " threads went";

/// Reads experiments from a cold cache: a small one, and generated ones of many samples.
pub(super) fn sizes(bench: &mut Bench) -> Outcome {
    let cold = ("cold cache".to_owned(), cache::words().to_owned());
    bench.facts.retain(|(name, _)| *name != cold.0);
    bench.facts.push(cold);
    let small = small(bench)?;
    for _ in 0..bench.runs {
        let what = "a run of a second";
        let (report, screen) = (report(bench, &small)?, screen(bench, &small)?);
        for (tool, used, does) in [
            ("er_print", report, "-functions"),
            ("analyzer", screen, "to its first screen"),
        ] {
            let name = format!("{tool} {does}, {what}");
            let goal = Some(Goal::AtMost(0.1));
            add(bench, tool, (&name, "s"), goal, used.wall)?;
            let name = format!("memory of {tool}, {what}");
            add(bench, tool, (&name, "MiB"), None, used.peak_mib)?;
        }
    }
    for (millions, threads, stacks) in SHAPES {
        bench.progress(&format!(
            "writing {millions} million samples, {stacks} stacks a side"
        ));
        let generated = generate(bench, millions, threads, stacks)?;
        let shape =
            format!("{millions} million samples, {stacks} stacks a side, {threads} threads");
        let runs = match millions {
            0..100 => bench.runs,
            _ => bench.runs.min(LONG),
        };
        for run in 1..=runs {
            bench.progress(&format!("reading them, round {run}"));
            let used = report(bench, &generated)?;
            let rate = f64::from(millions) / used.wall;
            let name = format!("er_print -functions, {shape}");
            let goal = Some(Goal::AtLeast(10.0));
            add(
                bench,
                "er_print",
                (&name, "million samples a second"),
                goal,
                rate,
            )?;
            let used_too = screen(bench, &generated)?;
            let name = format!("analyzer to its first screen, {shape}");
            add(bench, "analyzer", (&name, "s"), None, used_too.wall)?;
            for (tool, used) in [("er_print", used), ("analyzer", used_too)] {
                let name = format!("memory of {tool}, {shape}");
                let goal = Some(Goal::AtMost(MOST));
                add(bench, tool, (&name, "MiB"), goal, used.peak_mib)?;
            }
        }
    }
    Ok(())
}

fn add(
    bench: &mut Bench,
    tool: &str,
    (name, unit): (&str, &'static str),
    goal: Option<Goal>,
    value: f64,
) -> Outcome {
    let what = Measure { name, unit, goal };
    bench.add("readers", &what, tool, value)
}

/// The list of functions, from a cold cache.
fn report(bench: &Bench, experiment: &Path) -> Outcome<Usage> {
    cache::forget(experiment)?;
    let mut command = Command::new(built("er_print"));
    command.arg("-functions").arg(experiment);
    measure(&mut command, bench.folder())
}

/// analyzer's first screen, from a cold cache.
fn screen(bench: &Bench, experiment: &Path) -> Outcome<Usage> {
    cache::forget(experiment)?;
    let mut command = Command::new(built("analyzer"));
    command.arg(experiment);
    until_shown(&mut command, SHOWN, bench.folder())
}

/// Records the repository's application for about a second.
fn small(bench: &Bench) -> Outcome<PathBuf> {
    let program = bench.compiled("steps.c", &[])?.display().to_string();
    let program = [program, "3000".to_owned()];
    let folder = bench.folder().to_owned();
    let mut command = COLLECT.command(Rate::Kilohertz, &program, &folder);
    Waits::Spin.pin(&mut command, 2);
    measure(&mut command, &folder)?;
    Ok(folder.join("collect.er"))
}

/// Builds the generator of experiments of any size.
pub(super) fn build_generator() -> Outcome {
    let build = ["build", "--release", "-p", "experiment"];
    run(cargo().args(build).args(["--example", "generate"]))
}

/// Writes an experiment of this many million samples with the real writer.
pub(super) fn generate(
    bench: &Bench,
    millions: u32,
    threads: u32,
    stacks: u32,
) -> Outcome<PathBuf> {
    let program = built("examples/generate");
    if !program.is_file() {
        build_generator()?;
    }
    let folder = bench.folder().join("generated.er");
    // An earlier experiment there has another size.
    let _ = std::fs::remove_dir_all(&folder);
    let mut generate = Command::new(program);
    generate
        .arg(&folder)
        .args(["--samples", &format!("{millions}M")])
        .args(["--threads", &threads.to_string()])
        .args(["--stacks", &stacks.to_string()]);
    measure(&mut generate, bench.folder())?;
    Ok(folder)
}
