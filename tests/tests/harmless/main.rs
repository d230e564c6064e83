//! collect never hurts the program that it runs, and says what it missed. Each fault is made for real:
//! the program's output and status are held against those without collect.
#![allow(clippy::unwrap_used)]

mod experiments;
mod foreign;
mod limits;
mod loads;
mod random;
mod said;
mod same;
mod signals;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::{Mutex, OnceLock};

use end_to_end::{Outcome, finish, folder, reports, rows, tools};
use serde_json::Value;

/// What an OpenMP program needs to run the same way each time.
const OPENMP: [(&str, &str); 3] = [
    ("OMP_WAIT_POLICY", "passive"),
    ("OMP_NUM_THREADS", "2"),
    ("OMP_DYNAMIC", "false"),
];

/// A folder for the files of one test.
fn place(name: &str) -> PathBuf {
    let place = folder().join(format!("harmless-{name}-{}", std::process::id()));
    let _ = fs::remove_dir_all(&place);
    fs::create_dir_all(&place).unwrap();
    place
}

/// A program of `tests/programs`, built by gcc once in this test run, with more words for it.
fn program(name: &str, words: &[&str]) -> PathBuf {
    static BUILT: OnceLock<Mutex<Vec<PathBuf>>> = OnceLock::new();
    let mut built = BUILT.get_or_init(Mutex::default).lock().unwrap();
    let file = format!("built-{name}{}-{}", words.concat(), std::process::id());
    let product = folder().join(file.replace(['/', '='], "_"));
    if !built.contains(&product) {
        let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("programs");
        let status = Command::new("gcc")
            .args(["-O2", "-g", "-fopenmp", "-pthread"])
            .arg(source.join(name).with_extension("c"))
            .args(words)
            .arg("-o")
            .arg(&product)
            .status()
            .expect("these tests need gcc");
        assert!(status.success(), "gcc {name} {words:?}");
        built.push(product.clone());
    }
    product
}

/// A command line, run with OpenMP's usual environment.
fn command(words: &[&str]) -> Command {
    let mut command = Command::new(words[0]);
    command.args(&words[1..]).envs(OPENMP);
    command
}

/// The words before a command that record it into `experiment`.
fn collect(experiment: &Path) -> [&str; 3] {
    [text(&tools().collect), "-O", text(experiment)]
}

/// Records a command line.
fn record(experiment: &Path, words: &[&str]) -> Outcome {
    finish(command(&[&collect(experiment), words].concat()))
}

/// Runs a script of the shell that records with `$C` and reads with `$E`.
fn shell(script: &str, place: &Path) -> Outcome {
    let mut shell = command(&["bash", "-c", script]);
    shell
        .current_dir(place)
        .env("C", &tools().collect)
        .env("E", &tools().er_print);
    finish(shell)
}

fn text(path: &Path) -> &str {
    path.to_str().expect("the target folder's path is text")
}

/// `busy` ran and ended as it does alone.
#[track_caller]
fn ran_to_its_end(outcome: &Outcome) {
    let ended = (outcome.status, outcome.stdout.as_str());
    assert_eq!(ended, (4, "done\n"), "{}", outcome.stderr);
}

/// The notes and warnings of `header`.
fn notes(experiment: &Path) -> Vec<String> {
    let header = header(experiment);
    let notes = header["header"]["notes"].as_array().unwrap().iter();
    let warnings = header["warnings"].as_array().unwrap().iter();
    notes
        .chain(warnings)
        .map(|note| note.as_str().unwrap().to_owned())
        .collect()
}

fn header(experiment: &Path) -> Value {
    reports(experiment, "user", &["-header"]).remove(0)
}

/// The experiment can be read, and has time in it.
fn is_readable(experiment: &Path) {
    let functions = reports(experiment, "user", &["-functions"]);
    assert!(!rows(&functions[0]).is_empty(), "{functions:?}");
}

/// OpenMP's records were taken.
fn has_records(experiment: &Path) -> bool {
    header(experiment)["header"]["losses"]["omp_taken"] != 0
}
