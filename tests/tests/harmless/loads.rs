//! Programs that are too much for what is recorded of each moment: what is left out is said.

use std::fs;

use end_to_end::{reports, rows, value};

use crate::{is_readable, place, program, shell, text};

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
