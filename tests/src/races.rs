//! Programs with planted races, and what `collect -r race` finds in them.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::process::Command;

use experiment::Experiment;
use serde_json::Value;

use crate::{finish, tools};

/// A source file of `tests/programs`.
#[must_use]
pub fn source(name: &str) -> PathBuf {
    let programs = Path::new(env!("CARGO_MANIFEST_DIR")).join("programs");
    programs.join(name)
}

/// The names of the races in a source file, with their lines. A name stands behind the code of a line,
/// between `begin` and `end`, or the line's end.
///
/// # Panics
/// When there is no such file.
#[must_use]
pub fn planted(name: &str, begin: &str, end: &str) -> BTreeMap<String, BTreeSet<u64>> {
    let text = std::fs::read_to_string(source(name)).expect("a source file of the tests");
    let mut planted: BTreeMap<String, BTreeSet<u64>> = BTreeMap::new();
    for (line, text) in (1..).zip(text.lines()) {
        if let Some((code, name)) = text.split_once(begin)
            && !code.trim().is_empty()
        {
            let name = name.trim_end_matches(end).trim().to_owned();
            planted.entry(name).or_default().insert(line);
        }
    }
    planted
}

/// What an experiment of `collect -r` has found, and the sources that it knows by their digests. `None` if it
/// has not stored that yet.
#[must_use]
pub fn findings(experiment: &Path) -> Option<(Value, Vec<String>)> {
    let experiment = Experiment::open(experiment).ok()?;
    let findings = serde_json::to_value(experiment.findings.as_deref()?).ok()?;
    let symbols = experiment.symbols?;
    let files = symbols.digests.iter().map(|(file, _)| file.0 as usize);
    Some((
        findings,
        files.map(|at| symbols.files[at].clone()).collect(),
    ))
}

/// The races that `collect -r race` finds with so many threads, as er_print lists them.
///
/// # Panics
/// When the program fails, or its experiment cannot be read.
#[must_use]
pub fn races(program: &Path, threads: u32) -> Vec<Value> {
    // The names of programs have dots.
    let experiment = PathBuf::from(format!("{}.{threads}.er", program.display()));
    let mut command = Command::new(&tools().collect);
    command.args(["-r", "race", "-O"]).arg(&experiment);
    command.arg(program);
    command.env("OMP_NUM_THREADS", threads.to_string());
    command.env("OMP_WAIT_POLICY", "passive");
    let outcome = finish(command);
    assert_eq!(outcome.status, 0, "{outcome:?}");
    let text = tools().print(&experiment, &["-printmode", "json", "-races"]);
    let report: Value = serde_json::from_str(&text).expect("er_print writes JSON");
    let rows = report["rows"].as_array().expect("rows").clone();
    std::fs::remove_dir_all(&experiment).expect("the test made it");
    rows
}
