//! `cargo xtask lines`: the lines of the product, by crate. Tests, benches, examples, fixtures, fuzzing, this
//! program and the help for tests are not the product; of a file, its lines up to its tests.

use std::collections::BTreeMap;
use std::process::Command;

use crate::{Outcome, root};

/// Folders of what is not the product.
const OTHERS: [&str; 7] = [
    "tests",
    "benches",
    "examples",
    "fixtures",
    "fuzz",
    "xtask",
    "test-support",
];

/// Prints the lines of each crate, and their sum.
pub(crate) fn lines() -> Outcome {
    let listed = Command::new("git")
        .args(["ls-files", "-z", "*.rs"])
        .current_dir(root())
        .output()
        .map_err(|error| format!("cannot list the files by git: {error}"))?;
    let listed = String::from_utf8_lossy(&listed.stdout);
    let mut crates = BTreeMap::<&str, usize>::new();
    for path in listed.split_terminator('\0') {
        if !is_product(path) {
            continue;
        }
        let text = std::fs::read_to_string(root().join(path))
            .map_err(|error| format!("cannot read {path}: {error}"))?;
        let folder = path.split_once("/src/").map_or(path, |(folder, _)| folder);
        *crates.entry(folder).or_default() += product_lines(&text);
    }
    for (folder, lines) in &crates {
        println!("{lines:>8}  {folder}");
    }
    println!("{:>8}  in all", crates.values().sum::<usize>());
    Ok(())
}

fn is_product(path: &str) -> bool {
    let mut parts = path.split('/');
    parts.all(|part| !OTHERS.contains(&part) && part != "tests.rs")
}

/// The lines before the tests.
fn product_lines(text: &str) -> usize {
    let mut lines = text.lines();
    let is_before = |line: &&str| !line.starts_with("mod tests");
    lines.by_ref().take_while(is_before).count()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tests_and_what_serves_them_are_not_counted() {
        assert!(is_product("races/checker/src/replay.rs"));
        assert!(!is_product("collector/ring/tests/ring.rs"));
        assert!(!is_product("collector/preload/src/look/tests.rs"));
        assert!(!is_product("xtask/src/lines.rs"));
        assert_eq!(product_lines("a\n\n#[cfg(test)]\nmod tests {\nb\n}\n"), 3);
        assert_eq!(product_lines("a\n"), 1);
    }
}
