//! Features of dependencies stand in one place, so that cargo compiles each dependency once.

use std::collections::BTreeSet;
use std::path::Path;
use std::process::Command;

/// A member that asked for a feature of its own would have its dependencies, and all crates upon them,
/// compiled anew for `cargo build`, `cargo test` and each `-p`: minutes in a run of all tests.
#[test]
fn members_name_no_features_of_dependencies() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let read = |path: &Path| -> toml::Table {
        let text = std::fs::read_to_string(path).expect("a manifest");
        text.parse().expect("cargo reads it, too")
    };
    let workspace = read(&root.join("Cargo.toml"));
    let members = workspace["workspace"]["members"]
        .as_array()
        .expect("a list");
    assert!(members.len() > 20, "{members:?}");
    for member in members {
        let member = member.as_str().expect("a folder");
        let manifest = read(&root.join(member).join("Cargo.toml"));
        for kind in ["dependencies", "dev-dependencies", "build-dependencies"] {
            let Some(dependencies) = manifest.get(kind).and_then(toml::Value::as_table) else {
                continue;
            };
            for (name, dependency) in dependencies {
                let has_features = dependency.get("features").is_some();
                assert!(
                    !has_features,
                    "{member}: the features of {name} belong into the workspace's Cargo.toml"
                );
            }
        }
    }
}

/// `cargo build` made other variants of parquet, tempfile and all crates upon them than `cargo test`, which has the
/// dependencies of tests, too: each was compiled twice.
#[test]
fn tests_ask_for_no_features_that_programs_lack() {
    let crates = |kinds: &str| -> BTreeSet<String> {
        let words = ["tree", "--locked", "--workspace", "--prefix", "none"];
        let mut cargo = Command::new(env!("CARGO"));
        cargo.current_dir(env!("CARGO_MANIFEST_DIR")).args(words);
        let told = cargo.args(["--format", "{p} {f}", "--edges", kinds]);
        let told = String::from_utf8(told.output().expect("cargo").stdout).expect("UTF-8");
        let lines = told
            .lines()
            .map(|line| line.trim_end_matches(" (*)").to_owned());
        lines.collect()
    };
    let (programs, tests) = (crates("normal,build"), crates("normal,build,dev"));
    assert!(programs.len() > 100, "{programs:?}");
    let other: Vec<&String> = programs.difference(&tests).collect();
    assert!(other.is_empty(), "compiled twice: {other:?}");
}
