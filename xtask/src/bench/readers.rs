//! How fast reports are and what memory they take, by the number of samples and of stacks.

use std::path::Path;

use super::Bench;
use super::recorder::reader;
use super::results::{Goal, Measure};
use super::tools::built;
use super::usage::measure;
use crate::Outcome;
use crate::command::{cargo, run};

/// Experiments: millions of samples, threads, distinct stacks.
const SHAPES: [(u32, u32, u32); 6] = [
    (1, 8, 2_000),
    (1, 8, 20_000),
    (10, 8, 2_000),
    (10, 8, 20_000),
    (100, 8, 2_000),
    (100, 16, 20_000),
];

/// Generates each experiment, reads it from a cold cache and removes it.
pub(super) fn sizes(bench: &mut Bench) -> Outcome {
    run(cargo().args([
        "build",
        "--release",
        "-p",
        "omp-model",
        "--example",
        "generate",
    ]))?;
    for (millions, threads, stacks) in SHAPES {
        let folder = bench.folder().join("generated.er");
        // What stood there is of an earlier size.
        let _ = std::fs::remove_dir_all(&folder);
        let mut generate = std::process::Command::new(built("examples/generate"));
        generate
            .arg(&folder)
            .args(["--samples", &format!("{millions}M")])
            .args(["--threads", &threads.to_string()])
            .args(["--stacks", &stacks.to_string()]);
        measure(&mut generate, bench.folder())?;
        for _ in 0..bench.runs {
            let records = folder.join("records");
            forget(&records);
            let mut command = reader();
            command.arg("-functions").arg(&folder);
            let used = measure(&mut command, bench.folder())?;
            let shape = format!("{millions} million samples, {stacks} stacks a side");
            let rows = [
                (
                    format!("er_print -functions, {shape}"),
                    "million samples a second",
                    f64::from(millions) / used.wall,
                    Goal::AtLeast(10.0),
                ),
                (
                    format!("memory of er_print, {shape}"),
                    "MiB",
                    used.peak_mib,
                    Goal::AtMost(300.0),
                ),
            ];
            for (name, unit, value, goal) in rows {
                let what = Measure {
                    name: &name,
                    unit,
                    goal: Some(goal),
                };
                bench.results.add("readers", &what, "er_print", value);
            }
        }
    }
    Ok(())
}

/// Has the kernel drop a file's pages, as far as a user may: GNU's dd knows the call. Without it
/// the cache is warm, which costs less than a disk would and no CPU time of the reader.
fn forget(file: &Path) {
    let mut dd = std::process::Command::new("dd");
    dd.arg(format!("if={}", file.display()))
        .args(["iflag=nocache", "count=0", "status=none"]);
    let _ = dd.status();
}
