//! Parallax recorded by Parallax: where its own time goes, of which goals that are missed tell.

use std::path::Path;
use std::process::Command;

use super::cpu::Waits;
use super::readers::generate;
use super::report;
use super::run::Bench;
use super::tools::{COLLECT, Rate, built};
use super::usage::measure;
use crate::Outcome;

/// So many functions of each profile.
const LINES: &str = "12";

/// Records `er_print` while it reads ten million samples, and `collect` while it records the
/// application; the functions with most CPU time become a section of the documentation.
pub(super) fn profiles(bench: &mut Bench) -> Outcome {
    let folder = bench.folder().to_owned();
    let generated = generate(bench, 10, 8, 20_000)?;
    let mut read = vec![built("er_print").display().to_string()];
    read.extend(["-functions".to_owned(), generated.display().to_string()]);
    bench.progress("er_print is recorded");
    let reading = profile(&read, &folder, "reading")?;

    bench.progress("collect is recorded");
    let mut record = vec![built("collect").display().to_string()];
    let inner = folder.join("inner.er").display().to_string();
    record.extend(["-p".to_owned(), "hi".to_owned(), "-O".to_owned(), inner]);
    record.extend(bench.application(6_000)?);
    let recording = profile(&record, &folder, "recording")?;
    let sections = [
        (
            "er_print -functions of 10 million samples on 20,000 stacks a side",
            reading,
        ),
        (
            "collect while it records the application of a million OpenMP events a second",
            recording,
        ),
    ];
    report::profiles(&sections)
}

/// Records a command without its children, and prints the functions that used most CPU time.
fn profile(words: &[String], folder: &Path, name: &str) -> Outcome<String> {
    let experiment = folder.join(format!("{name}.er"));
    let mut command = Command::new(COLLECT.path().unwrap_or_default());
    command
        .args(["-p", Rate::Kilohertz.letter(), "-F", "off", "-O"])
        .arg(&experiment)
        .args(words);
    Waits::Spin.pin(&mut command, 2);
    measure(&mut command, folder)?;
    let mut print = Command::new(built("er_print"));
    print
        .args(["-limit", LINES, "-metrics", "e.%totalcpu:name"])
        .args(["-sort", "e.totalcpu", "-functions"])
        .arg(&experiment);
    let printed = measure(&mut print, folder)?.stdout;
    let lines = printed.lines();
    // The settings, which er_print repeats, and notes tell nothing of the time.
    let table = lines.filter(|line| !line.starts_with("Current ") && !line.starts_with("Note: "));
    Ok(table.collect::<Vec<_>>().join("\n"))
}
