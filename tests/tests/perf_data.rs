//! Files of `perf record`: held against what `perf` itself says of them, and against what the program measured.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::{Mutex, PoisonError};

use end_to_end::{compiler, folder, tools};
use fixtures::Family;
use serde_json::Value;

/// The period of the recordings, in seconds.
const PERIOD: f64 = 0.001;

/// Runs a command and returns what it printed.
fn output(command: &mut Command) -> String {
    let ran = command.output();
    let ran = ran.unwrap_or_else(|error| panic!("{command:?}: {error}"));
    let said = String::from_utf8_lossy(&ran.stderr);
    assert!(ran.status.success(), "{command:?}: {said}");
    String::from_utf8_lossy(&ran.stdout).into_owned()
}

/// Held while a program is recorded: others would take its CPUs.
static ALONE: Mutex<()> = Mutex::new(());

/// A program that is built and recorded.
struct Recording {
    place: PathBuf,
    /// CPU seconds at work and in barriers, as the program measured them.
    truth: (f64, f64),
}

impl Recording {
    fn of(family: Family, name: &str, options: &[&str]) -> Recording {
        let place = folder().join(format!("perf-data/{name}-{}", std::process::id()));
        fs::create_dir_all(&place).expect("the target folder is ours");
        let source = concat!(env!("CARGO_MANIFEST_DIR"), "/programs/uneven.c");
        let compiler = compiler(family);
        let mut build = Command::new(&compiler.path);
        build.current_dir(&place);
        build.args(["-O2", "-g", "-fopenmp", "-fno-omit-frame-pointer"]);
        build.args(compiler.header());
        output(build.args([source, "-o", "uneven"]));
        let mut perf = Command::new("perf");
        perf.current_dir(&place);
        perf.env("OMP_WAIT_POLICY", "active");
        perf.env("KMP_BLOCKTIME", "infinite");
        perf.args(["record", "-q", "-e", "cpu-clock", "-F", "1000"]);
        perf.args(options).args(["-o", "perf.data", "./uneven"]);
        let alone = ALONE.lock().unwrap_or_else(PoisonError::into_inner);
        let said = output(&mut perf);
        drop(alone);
        let numbers: Vec<f64> = said
            .split_whitespace()
            .filter_map(|word| word.parse().ok())
            .collect();
        let [work, wait, _] = numbers[..] else {
            panic!("the program said {said:?}");
        };
        Recording {
            place,
            truth: (work, wait),
        }
    }

    fn file(&self) -> PathBuf {
        self.place.join("perf.data")
    }

    /// The rows of `functions`: name, and seconds of these metrics.
    fn functions(&self, words: &[&str], metrics: &[&str]) -> Vec<(String, Vec<f64>)> {
        functions(&self.file(), words, metrics)
    }

    fn discard(self) {
        fs::remove_dir_all(&self.place).expect("the test made it");
    }
}

fn functions(file: &Path, words: &[&str], metrics: &[&str]) -> Vec<(String, Vec<f64>)> {
    let mut er_print = Command::new(&tools().er_print);
    let metrics_word = format!("{}:name", metrics.join(":"));
    er_print.args(["-printmode", "json", "-metrics", &metrics_word]);
    er_print.args(words).arg("-functions").arg(file);
    let printed = output(&mut er_print);
    // `metrics` prints an object, too.
    let line = printed.lines().rfind(|line| line.contains("\"rows\""));
    let document: Value = serde_json::from_str(line.expect("a table")).expect("JSON");
    let rows = document["rows"].as_array().expect("rows").iter();
    let row = |row: &Value| {
        let of = |metric: &&str| row["values"][*metric].as_f64().unwrap_or(0.0);
        let name = row["name"].as_str().expect("a name").to_owned();
        (name, metrics.iter().map(of).collect())
    };
    rows.map(row).collect()
}

/// Samples by function of the program, and all samples, as `perf report` counts them.
fn by_perf(file: &Path) -> (Vec<(String, u64)>, u64) {
    let mut perf = Command::new("perf");
    perf.args(["report", "--stdio", "--no-children", "--no-inline", "-n"]);
    perf.args(["-g", "none", "--sort", "dso,sym", "-f", "-i"])
        .arg(file);
    let printed = output(&mut perf);
    let mut own = Vec::new();
    let mut all = 0;
    for line in printed.lines().filter(|line| !line.starts_with('#')) {
        let words: Vec<&str> = line.split_whitespace().collect();
        if let [_, samples, object, _, name, ..] = words[..]
            && let Ok(samples) = samples.parse::<u64>()
        {
            all += samples;
            if object == "uneven" {
                own.push((name.to_owned(), samples));
            }
        }
    }
    (own, all)
}

/// Every way to record has as many samples in each function as `perf report` counts in it.
#[test]
fn samples_by_function_are_those_that_perf_counts() {
    for (name, options) in [
        ("chains", &["-g"][..]),
        ("dwarf", &["--call-graph", "dwarf"]),
        ("packed", &["-z", "--call-graph", "dwarf"]),
        ("with-cpus", &["-g", "--sample-cpu"]),
    ] {
        let recording = Recording::of(Family::Gcc, name, options);
        let (own, all) = by_perf(&recording.file());
        let rows = recording.functions(&["-inline", "off"], &["e.total"]);
        let samples = |name: &str| {
            let found = rows.iter().find(|(row, _)| row == name);
            found.map_or(0, |(_, values)| (values[0] / PERIOD).round() as u64)
        };
        assert_eq!(samples("<Total>"), all, "{name}");
        let burn = own.iter().find(|(function, _)| function == "burn");
        let (_, burnt) = burn.unwrap_or_else(|| panic!("{name}: {own:?}"));
        assert!(*burnt > 100, "{own:?}");
        assert_eq!(samples("burn"), *burnt, "{name}");
        recording.discard();
    }
}

/// Events and samples of each event, as `perf script` lists them.
fn events_by_perf(file: &Path) -> Vec<(String, u64)> {
    let mut script = Command::new("perf");
    script.args(["script", "-f", "-F", "event,period", "-G", "-i"]);
    let listed = output(script.arg(file));
    let mut all: Vec<(String, u64)> = Vec::new();
    for line in listed.lines() {
        let words: Vec<&str> = line.split_whitespace().collect();
        let [period, event, ..] = words[..] else {
            continue;
        };
        let event = event.trim_end_matches(':');
        let period: u64 = period.parse().expect("a period");
        match all.iter_mut().find(|(name, _)| name == event) {
            Some((_, events)) => *events += period,
            None => all.push((event.to_owned(), period)),
        }
    }
    all
}

/// Members of a group that are read at the samples of its first event have the counts that perf reports.
#[test]
fn events_read_at_the_samples_of_a_group_are_those_that_perf_counts() {
    let recording = Recording::of(Family::Gcc, "group", &["-g"]);
    let file = recording.place.join("group.data");
    for group in [
        "{cpu-clock,page-faults,context-switches}:S",
        "{page-faults,cpu-clock}:S",
    ] {
        let mut perf = Command::new("perf");
        perf.current_dir(&recording.place);
        let period = if group.starts_with("{cpu") {
            "1000000"
        } else {
            "10"
        };
        perf.args(["record", "-q", "-g", "-c", period, "-e", group, "-o"]);
        output(perf.arg(&file).arg("./uneven"));
        let header = tools().print(&file, &["-header"]);
        for (event, count) in events_by_perf(&file) {
            if event == "cpu-clock" && period == "1000000" {
                continue;
            }
            let line = format!("Counter {event}: {count} ");
            assert!(header.contains(&line), "{group}: {line}: {header}");
        }
    }
    recording.discard();
}

/// A file that came through a pipe says the same as one that perf wrote.
#[test]
fn a_file_of_a_pipe_is_read() {
    let recording = Recording::of(Family::Gcc, "pipe", &["-g"]);
    let through = recording.place.join("pipe.data");
    let mut perf = Command::new("perf");
    perf.current_dir(&recording.place);
    perf.args([
        "record",
        "-q",
        "-g",
        "-e",
        "cpu-clock",
        "-F",
        "1000",
        "-o",
        "-",
    ]);
    perf.args(["sh", "-c", "./uneven > /dev/null"]);
    let ran = perf.output().expect("perf runs");
    fs::write(&through, ran.stdout).expect("the target folder is ours");
    let rows = functions(&through, &["-inline", "off"], &["e.total"]);
    let burn = rows.iter().find(|(name, _)| name == "burn");
    let mut script = Command::new("perf");
    script
        .args(["script", "-f", "-F", "ip,sym", "-i"])
        .arg(&through);
    let listed = output(&mut script);
    let stacks = listed.split("\n\n");
    let leaves = stacks.filter(|stack| {
        let leaf = stack.lines().find(|line| !line.trim().is_empty());
        leaf.is_some_and(|leaf| leaf.ends_with(" burn"))
    });
    let expected = leaves.count() as f64 * PERIOD;
    let found = burn.map_or(0.0, |(_, values)| values[0]);
    assert!(
        expected > 0.1 && (found - expected).abs() < PERIOD / 2.0,
        "{found} {expected}"
    );
    recording.discard();
}

/// Threads that spin in barriers are waiting, by their stacks alone.
#[test]
fn waits_are_those_that_the_program_measured() {
    for (family, name) in [(Family::Gcc, "gcc"), (Family::Clang, "clang")] {
        let mut found = Vec::new();
        // What a loaded machine did is not the profile's fault: another run decides.
        let is_right = (0..3).any(|_| {
            let recording = Recording::of(family, name, &["--call-graph", "dwarf"]);
            let rows = recording.functions(&[], &["i.ompwork", "i.ompwait"]);
            let total = rows.iter().find(|(name, _)| name == "<Total>");
            let values = total.map_or_else(Vec::new, |(_, values)| values.clone());
            let (work, wait) = recording.truth;
            let near = |found: f64, truth: f64| (found - truth).abs() < 0.05 * truth + 0.02;
            let is_right = near(values[0], work) && near(values[1], wait) && wait > 0.02;
            found.push((values, (work, wait)));
            recording.discard();
            is_right
        });
        assert!(is_right, "{name}: {found:?}");
    }
}
