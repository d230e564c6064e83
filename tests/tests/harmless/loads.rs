//! Programs that are too much for what is recorded of each moment: what is left out is said.

use std::fs;

use end_to_end::{lost, reports, rows, value};

use crate::{header, is_readable, place, program, record, shell, text};

/// collect is stopped while the tasks are made, so their records do not fit into their rings.
#[test]
fn records_that_are_lost_have_their_time() {
    const TASKS: u64 = 600_000;
    let place = place("burst");
    let burst = program("burst", &[]);
    let experiment = place.join("run.er");
    let outcome = record(&experiment, &[text(&burst), &TASKS.to_string()]);
    assert_eq!(outcome.status, 0, "{}", outcome.stderr);
    let clock: Vec<u64> = outcome
        .stdout
        .split_whitespace()
        .map(|it| it.parse().unwrap())
        .collect();
    let header = &header(&experiment)["header"];
    let start = header["started_raw_ns"].as_u64().unwrap();
    let burst = [clock[0] - start, clock[1] - start];
    let stretches = lost(&header["losses"], "omp_constructs");
    assert!(!stretches.is_empty(), "{header}");
    for (from, to, _) in &stretches {
        // Two clocks are tied by paired readings.
        const ERROR: u64 = 1_000_000;
        let is_within = from + ERROR >= burst[0] && *to <= burst[1] + ERROR;
        assert!(is_within, "lost from {from} to {to}, burst {burst:?}");
    }
    // A task is created, begins and ends. Nothing is lost without being counted.
    let counted: u64 = stretches.iter().map(|(_, _, count)| count).sum();
    let taken = header["losses"]["omp_taken"].as_u64().unwrap();
    assert!(
        taken + counted >= 3 * TASKS,
        "{taken} taken, {counted} lost"
    );
    // A view of a time in which nothing was lost does not speak of losses.
    let told = |filter: String| {
        let report = reports(&experiment, "user", &["-filters", &filter, "-functions"]);
        let notices = report.last().unwrap()["notices"].to_string();
        notices.contains("records of regions and tasks were lost")
    };
    assert!(told(format!("TSTAMP<{}", burst[1])));
    assert!(!told(format!("TSTAMP<{}", burst[0] / 2)));
    fs::remove_dir_all(place).unwrap();
}

#[test]
fn a_stack_of_a_hundred_thousand_frames_keeps_both_ends() {
    let place = place("deep");
    let deep = program("deep", &["-fno-optimize-sibling-calls"]);
    let script = format!(
        "ulimit -s unlimited; exec $C -O run.er {} 100000 3000000000",
        text(&deep)
    );
    let outcome = shell(&script, &place);
    assert_eq!(outcome.status, 0, "{}", outcome.stderr);
    let experiment = place.join("run.er");
    is_readable(&experiment);
    let report = &reports(&experiment, "user", &["-functions"])[0];
    let inclusive = |name: &str| {
        let row = rows(report).iter().find(|row| row["name"] == name);
        row.map_or(0.0, |row| value(row, "i", "total"))
    };
    let total = inclusive("<Total>");
    // The outermost frames, those in the middle that are left out, and the innermost.
    for name in ["main", "<Truncated-stack>", "down", "work"] {
        let share = inclusive(name) / total;
        assert!(share > 0.9, "{name} has {share:.2} of {total:.3} s");
    }
    fs::remove_dir_all(place).unwrap();
}
