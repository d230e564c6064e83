//! How collect's cost grows with what a program does: its OpenMP events, and its stacks' depth.

use super::recorder::{add, told};
use super::run::Bench;
use crate::Outcome;

/// Elements of the application's loops, and its steps: the fewer elements, the more regions a
/// second; all take about as long.
const RATES: [(&str, u32, u32); 3] = [
    ("few", 2_400_000, 40),
    ("many", 240_000, 500),
    ("very many", 24_000, 4_000),
];

/// Frames of the stacks below which the program works.
const DEPTHS: [u32; 3] = [10, 100, 1_000];

/// A sample's and a record's cost to collect, at three sizes each.
pub(super) fn collect(bench: &mut Bench) -> Outcome {
    let steps = bench.compiled("steps.c", &[])?.display().to_string();
    let deep = bench.compiled("deep.c", &[])?.display().to_string();
    for round in 1..=bench.runs {
        bench.progress(&format!("round {round}"));
        for (words, elements, number) in RATES {
            let program = [steps.clone(), number.to_string(), elements.to_string()];
            let told = told(bench, &program, &[])?;
            let name = format!("collect's CPU time a sample, {words} events");
            let value = told.recording / told.samples * 1e6;
            add(bench, "growth", (&name, "us"), None, value)?;
            let name = format!("records a second that those are, {words}");
            // Samples come once in 0.997 ms of CPU time, of which two threads have two seconds.
            let seconds = told.samples * 0.997e-3 / 2.0;
            let unit = "thousands";
            let value = told.records / seconds / 1e3;
            add(bench, "growth", (&name, unit), None, value)?;
        }
        for depth in DEPTHS {
            let told = told(bench, &[deep.clone(), depth.to_string()], &[])?;
            let name = format!("collect's CPU time a sample, {depth} frames deep");
            let value = told.recording / told.samples * 1e6;
            add(bench, "growth", (&name, "us"), None, value)?;
        }
    }
    Ok(())
}
