//! Programs into which the library cannot be loaded: they run as alone, and it is said that they were
//! recorded without events.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use end_to_end::{Outcome, folder};

use crate::{is_readable, notes, place, record, text};

/// A program of `tests/programs`, built for musl.
fn by_musl(name: &str, options: &[&str]) -> PathBuf {
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("programs");
    let product = folder().join(format!("built-{name}-musl{}", options.concat()));
    let built = Command::new("musl-gcc")
        .args(["-O2", "-g", "-pthread"])
        .args(options)
        .arg(source.join(name).with_extension("c"))
        .arg("-o")
        .arg(&product)
        .status();
    let built = built.expect("these tests need musl-gcc");
    assert!(built.success(), "musl-gcc {name}");
    product
}

const MUSL: &str = "its dynamic linker, /lib/ld-musl-x86_64.so.1, is not that of the GNU C library";

#[track_caller]
fn ran_as_alone(outcome: &Outcome) {
    let ended = (outcome.status, outcome.stdout.as_str());
    assert_eq!(ended, (5, "word done\n"), "{}", outcome.stderr);
    assert_eq!(outcome.said_by_program(), "");
}

#[test]
fn a_program_of_another_c_library() {
    let place = place("musl");
    let experiment = place.join("run.er");
    let program = by_musl("foreign", &[]);
    let script = place.join("script");
    fs::write(&script, format!("#!{} word\n", text(&program))).unwrap();
    fs::set_permissions(&script, std::os::unix::fs::PermissionsExt::from_mode(0o755)).unwrap();
    let outcome = record(&experiment, &[text(&program), "word"]);
    ran_as_alone(&outcome);
    is_readable(&experiment);
    let said: Vec<&str> = outcome.said_by_collect().collect();
    assert!(
        matches!(said[..], [line] if line.contains(MUSL) && line.contains("without OpenMP events")),
        "{said:?}"
    );
    let noted = notes(&experiment);
    assert!(noted.iter().any(|note| note.contains(MUSL)), "{noted:?}");
    let outcome = record(&experiment, &[text(&script)]);
    assert_eq!(outcome.status, 5, "{}", outcome.stderr);
    assert_eq!(outcome.said_by_program(), "");
    fs::remove_dir_all(place).unwrap();
}

/// Nothing has to be said of a program that loads nothing.
#[test]
fn a_static_program_of_another_c_library() {
    let place = place("musl-static");
    let experiment = place.join("run.er");
    let program = by_musl("foreign", &["-static"]);
    let outcome = record(&experiment, &[text(&program), "word"]);
    ran_as_alone(&outcome);
    assert_eq!(outcome.said_by_collect().count(), 0, "{}", outcome.stderr);
    fs::remove_dir_all(place).unwrap();
}

#[test]
fn a_program_of_another_c_library_under_checks() {
    let place = place("musl-checks");
    let experiment = place.join("run.er");
    let program = by_musl("foreign", &[]);
    let outcome = record(&experiment, &["-r", "all", text(&program), "word"]);
    ran_as_alone(&outcome);
    let said: Vec<&str> = outcome.said_by_collect().collect();
    assert!(
        matches!(said[..], [line] if line.contains(MUSL) && line.contains("nothing was checked")),
        "{said:?}"
    );
    fs::remove_dir_all(place).unwrap();
}
