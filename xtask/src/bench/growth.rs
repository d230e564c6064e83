//! The growth of collect's cost with a program's OpenMP events and its stacks' depth.

use super::recorder::{add, record};
use super::run::Bench;
use crate::Outcome;

/// The application's event rate in words, elements of its loops, and steps. Fewer elements make more
/// regions per second; all take about the same time.
const RATES: [(&str, u32, u32); 3] = [
    ("few", 2_400_000, 40),
    ("many", 240_000, 500),
    ("very many", 24_000, 4_000),
];

/// The depth of the program's stacks, in frames.
const DEPTHS: [u32; 3] = [10, 100, 1_000];

/// Measures collect's cost per sample, at three event rates and three stack depths.
pub(super) fn collect(bench: &mut Bench) -> Outcome {
    let steps = bench.compiled("steps.c", &[])?.display().to_string();
    let deep = bench.compiled("deep.c", &[])?.display().to_string();
    for round in 1..=bench.runs {
        bench.progress(&format!("round {round}"));
        for (words, elements, number) in RATES {
            let program = [steps.clone(), number.to_string(), elements.to_string()];
            let recorded = record(bench, &program, &[])?;
            let name = format!("collect's CPU time a sample, {words} events");
            let value = recorded.recording / recorded.samples * 1e6;
            add(bench, "growth", (&name, "us"), None, value)?;
            let name = format!("records a second that those are, {words}");
            // A sample is taken per 0.997 ms of CPU time; two threads have 2 s of it per second.
            let seconds = recorded.samples * 0.997e-3 / 2.0;
            let unit = "thousands";
            let value = recorded.records / seconds / 1e3;
            add(bench, "growth", (&name, unit), None, value)?;
        }
        for depth in DEPTHS {
            let recorded = record(bench, &[deep.clone(), depth.to_string()], &[])?;
            let name = format!("collect's CPU time a sample, {depth} frames deep");
            let value = recorded.recording / recorded.samples * 1e6;
            add(bench, "growth", (&name, "us"), None, value)?;
        }
    }
    Ok(())
}
