//! What collect itself needs: CPU time and bytes a sample, memory, and time at the end.

use std::path::{Path, PathBuf};
use std::process::Command;

use super::Bench;
use super::cpu::Waits;
use super::results::{Goal, Measure};
use super::tools::{BARE, COLLECT, Rate, built};
use super::usage::{Usage, measure, watch};
use crate::Outcome;

/// A measure of collect alone.
fn ours(
    name: &str,
    unit: &'static str,
    goal: Option<Goal>,
) -> (String, &'static str, Option<Goal>) {
    (name.to_owned(), unit, goal)
}

fn add(bench: &mut Bench, group: &str, measure: (String, &'static str, Option<Goal>), value: f64) {
    let (name, unit, goal) = measure;
    let what = Measure {
        name: &name,
        unit,
        goal,
    };
    bench.results.add(group, &what, COLLECT.name, value);
}

/// CPU time of collect, and bytes on disk, for each sample of the application.
pub(super) fn samples(bench: &mut Bench) -> Outcome {
    let program = bench.application(6_000)?;
    for _ in 0..bench.runs {
        let folder = bench.folder().to_owned();
        let mut command = COLLECT.command(Rate::Kilohertz, &program, &folder);
        Waits::Spin.pin(&mut command, 2);
        let used = measure(&mut command, &folder)?;
        let told = Told::of(&used)?;
        add(
            bench,
            "samples",
            ours(
                "collect's CPU time a sample, OpenMP's events included",
                "us",
                None,
            ),
            told.recording / told.samples * 1e6,
        );
        add(
            bench,
            "samples",
            ours(
                "bytes a sample, all told, on a run of seconds",
                "bytes",
                None,
            ),
            bytes_of(&folder.join("collect.er")) as f64 / told.samples,
        );
    }
    Ok(())
}

/// What `collect -v` says when it ends.
struct Told {
    samples: f64,
    /// Seconds of CPU time to record, and to resolve symbols.
    recording: f64,
    resolving: f64,
}

impl Told {
    fn of(used: &Usage) -> Outcome<Told> {
        let before = |word: &str| {
            let words: Vec<&str> = used.stderr.split_whitespace().collect();
            let at = words
                .windows(2)
                .position(|pair| pair[1].trim_end_matches(',') == word)?;
            words[at].parse::<f64>().ok()
        };
        let seconds = |after: &str| {
            let rest = used.stderr.split_once(after)?.1;
            rest.split_whitespace().next()?.parse::<f64>().ok()
        };
        let told = || {
            Some(Told {
                samples: before("samples")?,
                recording: seconds("collect: used ")?,
                resolving: seconds("to record, ")?,
            })
        };
        told().ok_or_else(|| format!("collect -v said something else: {}", used.stderr))
    }
}

fn bytes_of(folder: &Path) -> u64 {
    let files = std::fs::read_dir(folder).into_iter().flatten().flatten();
    let length = |file: std::fs::DirEntry| file.metadata().map_or(0, |data| data.len());
    files.map(length).sum()
}

/// The application with few and with very many threads: its CPU time over bare, and collect's
/// memory. With many threads it has so many fewer steps that it takes as long.
pub(super) fn threads(bench: &mut Bench) -> Outcome {
    for _ in 0..bench.runs {
        for (threads, steps) in [(2, 2_000), (32, 300), (256, 40)] {
            let program = bench.application(steps)?;
            let folder = bench.folder().to_owned();
            let run = |tool: super::Tool| {
                let mut command = tool.command(Rate::Kilohertz, &program, &folder);
                Waits::Sleep.pin(&mut command, threads);
                watch(&mut command, &folder)
            };
            let (bare, with) = (run(BARE)?, run(COLLECT)?);
            let most = 64.0 + (threads as f64 - 2.0);
            add(
                bench,
                "threads",
                ours(
                    &format!("memory of collect, {threads} threads"),
                    "MiB",
                    Some(Goal::AtMost(most)),
                ),
                with.own_mib,
            );
            add(
                bench,
                "threads",
                ours(
                    &format!("CPU time over bare, {threads} threads that sleep"),
                    "ratio",
                    None,
                ),
                with.cpu / bare.cpu,
            );
        }
    }
    Ok(())
}

/// How long collect goes on after the program has ended, for programs with more and more code: the
/// functions of each are called once, and sampled here and there.
pub(super) fn end(bench: &mut Bench) -> Outcome {
    for functions in [2_000, 10_000, 50_000] {
        let program = large_program(bench, functions)?;
        let size = std::fs::metadata(&program).map_or(0, |data| data.len());
        let words = [program.display().to_string()];
        for _ in 0..bench.runs {
            let folder = bench.folder().to_owned();
            let mut command = COLLECT.command(Rate::Kilohertz, &words, &folder);
            Waits::Spin.pin(&mut command, 2);
            let used = measure(&mut command, &folder)?;
            let told = Told::of(&used)?;
            let name = format!(
                "symbols at the end, {} MB with debug information",
                (size as f64 / 1e6).round()
            );
            add(
                bench,
                "end",
                ours(&name, "s of CPU time", Some(Goal::AtMost(0.5))),
                told.resolving,
            );
        }
    }
    Ok(())
}

/// A program of so many functions, each with a few lines and an inlined call.
fn large_program(bench: &Bench, functions: u32) -> Outcome<PathBuf> {
    let source = bench.folder().join(format!("large-{functions}.c"));
    let mut text = String::from(
        "static volatile double sink;\n\
         static inline double twice(double x) { return x * 2 + sink; }\n",
    );
    for number in 0..functions {
        text.push_str(&format!(
            "__attribute__((noinline)) static double function_{number}(double x, int n) {{\n\
             \tfor (int i = 0; i < n; i++) {{\n\
             \t\tx = twice(x) / {}.0 + i;\n\
             \t\tif (x > {number}.5)\n\t\t\tx = twice(x - {number}.25) * 0.1;\n\
             \t}}\n\treturn x;\n}}\n",
            number % 7 + 2
        ));
    }
    text.push_str("int main(void) {\n\tdouble x = 1;\n\tfor (int r = 0; r < 20; r++) {\n");
    let calls = 2_000_000_u32.div_ceil(functions);
    for number in 0..functions {
        text.push_str(&format!("\t\tx += function_{number}(x, {calls});\n"));
    }
    text.push_str("\t}\n\treturn x == 0.5;\n}\n");
    std::fs::write(&source, text).map_err(|e| format!("{}: {e}", source.display()))?;
    let path = source.display().to_string();
    // -g3 and no optimisation across functions: more debug information a function, as C++ has it.
    bench.compiled(&path, &["-O1", "-g3"])
}

/// A tool of this build that the end of a recording is read with.
pub(super) fn reader() -> Command {
    Command::new(built("er_print"))
}
