//! The cost of collect itself: CPU time and bytes per sample, and memory.

use std::path::Path;
use std::time::Instant;

use super::cpu::Waits;
use super::results::{Goal, Measure};
use super::run::Bench;
use super::tools::{BARE, COLLECT, Rate, Tool};
use super::usage::{Usage, measure, watch};
use crate::Outcome;
use crate::command::cargo;

/// Adds a value to a measure that only collect has.
pub(super) fn add(
    bench: &mut Bench,
    group: &str,
    (name, unit): (&str, &'static str),
    goal: Option<Goal>,
    value: f64,
) -> Outcome {
    let what = Measure { name, unit, goal };
    bench.add(group, &what, COLLECT.name, value)
}

/// Runs a program under collect with two threads that spin, and returns collect's statistics.
pub(super) fn record(
    bench: &Bench,
    program: &[String],
    environment: &[(&str, &str)],
) -> Outcome<Statistics> {
    let folder = bench.folder().to_owned();
    let mut command = COLLECT.command(Rate::Kilohertz, program, &folder);
    Waits::Spin.pin(&mut command, 2);
    command.envs(environment.iter().copied());
    Statistics::of(&measure(&mut command, &folder)?)
}

/// Steps of the application while samples are measured. A third of them takes 2.4 s, for which
/// collect's fixed cost was still a fifth of the cost of the samples.
const STEPS: u32 = 48_000;

/// CPU time of collect, and bytes on disk, for each sample of the application.
pub(super) fn samples(bench: &mut Bench) -> Outcome {
    // Long enough to make collect's fixed cost negligible.
    let program = bench.application(STEPS)?;
    for round in 1..=bench.runs.div_ceil(2) {
        bench.progress(&format!("round {round}"));
        // Without a tool the runtime sends no events: the rest is the cost of samples.
        let plain = record(bench, &program, &[("OMP_TOOL", "disabled")])?;
        let a_sample = plain.recording / plain.stacks;
        let unit = ("collect's CPU time a sample, without OpenMP's events", "us");
        let goal = Some(Goal::AtMost(5.0));
        add(bench, "samples", unit, goal, a_sample * 1e6)?;
        let with = record(bench, &program, &[])?;
        let a_record = (with.recording - a_sample * with.stacks) / with.records;
        let unit = (
            "collect's CPU time an OpenMP record, merged and summed",
            "ns",
        );
        add(bench, "samples", unit, None, a_record * 1e9)?;
    }
    bench.progress("a run of a minute");
    // Measure the number of steps in a minute.
    let start = Instant::now();
    record(bench, &program, &[])?;
    let rate = f64::from(STEPS) / start.elapsed().as_secs_f64();
    let minute = bench.application((60.0 * rate) as u32)?;
    let with = record(bench, &minute, &[])?;
    let bytes = bytes_of(&bench.folder().join("collect.er")) as f64;
    let (name, goal) = ("bytes a sample, all told, on a run of a minute", 6.0);
    let goal = Some(Goal::AtMost(goal));
    add(bench, "samples", (name, "bytes"), goal, bytes / with.stacks)
}

/// The statistics that `collect -v` prints when it ends.
#[derive(Debug, PartialEq)]
pub(super) struct Statistics {
    pub(super) samples: f64,
    /// Clock samples and switch-out samples: all stacks that were unwound and written.
    pub(super) stacks: f64,
    /// OpenMP records.
    pub(super) records: f64,
    /// CPU time to record, in seconds.
    pub(super) recording: f64,
    /// CPU time to resolve symbols, in seconds.
    pub(super) resolving: f64,
}

impl Statistics {
    pub(super) fn of(used: &Usage) -> Outcome<Statistics> {
        let before = |what: &str| {
            let end = used.stderr.find(what)?;
            let number = used.stderr[..end].split_whitespace().last()?;
            number.parse::<f64>().ok()
        };
        let parsed = || {
            Some(Statistics {
                samples: before(" samples,")?,
                stacks: before(" samples,")? + before(" at switch-out")?,
                records: before(" OpenMP records")?,
                recording: before(" s of CPU time to record,")?,
                resolving: before(" s to resolve symbols")?,
            })
        };
        parsed().ok_or_else(|| format!("collect -v said something else: {}", used.stderr))
    }
}

fn bytes_of(folder: &Path) -> u64 {
    let files = std::fs::read_dir(folder).into_iter().flatten().flatten();
    let length = |file: std::fs::DirEntry| file.metadata().map_or(0, |data| data.len());
    files.map(length).sum()
}

/// The application with few and with very many threads: its CPU time over bare, and collect's
/// memory. The number of steps falls with the threads, to keep the time about the same.
pub(super) fn threads(bench: &mut Bench) -> Outcome {
    for round in 1..=bench.runs {
        bench.progress(&format!("round {round}"));
        for (threads, steps) in [(2, 1_000), (16, 300), (64, 100), (256, 30)] {
            let program = bench.application(steps)?;
            let folder = bench.folder().to_owned();
            let run = |tool: Tool| {
                let mut command = tool.command(Rate::Kilohertz, &program, &folder);
                Waits::Sleep.pin(&mut command, threads);
                watch(&mut command, &folder)
            };
            let (bare, with) = (run(BARE)?, run(COLLECT)?);
            let most = Some(Goal::AtMost(64.0 + (threads as f64 - 2.0)));
            let name = format!("memory of collect, {threads} threads");
            add(bench, "threads", (&name, "MiB"), most, with.own_mib)?;
            let name = format!("CPU time over bare, {threads} threads that sleep");
            let ratio = with.cpu / bare.cpu;
            add(bench, "threads", (&name, "ratio"), None, ratio)?;
        }
    }
    Ok(())
}

/// Runs the unwinder's own bench, on recorded stacks of real programs.
pub(super) fn unwinding(bench: &mut Bench) -> Outcome {
    let mut command = cargo();
    command.args(["bench", "-q", "-p", "unwinder", "--bench", "unwind"]);
    let folder = bench.folder().to_owned();
    for round in 1..=bench.runs.div_ceil(2) {
        bench.progress(&format!("round {round}"));
        let used = measure(&mut command, &folder)?;
        let mut found = false;
        for line in used.stdout.lines() {
            let Some((shape, nanoseconds)) = line.rsplit_once(' ') else {
                continue;
            };
            let Ok(nanoseconds) = nanoseconds.parse() else {
                continue;
            };
            found = true;
            let goal = shape.ends_with("warm").then_some(Goal::AtMost(50.0));
            let name = format!("unwinding a frame: {shape}");
            add(bench, "unwind", (&name, "ns"), goal, nanoseconds)?;
        }
        if !found {
            return Err(format!("the unwinder's bench said: {}", used.stdout));
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_collect_says_of_itself_is_understood() {
        let used = Usage {
            stderr: "Creating experiment directory x.er (Process ID: 7) ...\n\
                     collect: x.er: 3007 samples, 12 at switch-out, 1000123 OpenMP records of 21 calling contexts in 1.5 s\n\
                     collect: used 0.074 s of CPU time to record, 0.012 s to resolve symbols\n"
                .to_owned(),
            ..Usage::default()
        };
        let recorded = Statistics {
            samples: 3007.0,
            stacks: 3019.0,
            records: 1_000_123.0,
            recording: 0.074,
            resolving: 0.012,
        };
        assert_eq!(Statistics::of(&used), Ok(recorded));
        assert!(Statistics::of(&Usage::default()).is_err());
    }
}
