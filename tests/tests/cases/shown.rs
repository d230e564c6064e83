//! What the reports of a recorded run show, and the faults that are found in them.

use std::path::Path;

use end_to_end::{Node, reports, rows};
use serde_json::Value;

/// A row of the lists of regions and tasks.
pub(crate) struct Construct {
    /// Its name, without the symbol of its body.
    pub(crate) name: String,
    /// How often it was executed, if that is known.
    pub(crate) instances: Option<u64>,
    /// The level of nesting; 1 for tasks.
    pub(crate) level: u64,
    /// The row.
    pub(crate) row: Value,
}

/// The name of a construct without the symbol of its body.
pub(crate) fn plain(name: &str) -> &str {
    match name.rsplit_once(" [") {
        Some((plain, symbol)) if symbol.ends_with(']') => plain,
        _ => name,
    }
}

/// A row's name, as [`plain`] gives it.
pub(crate) fn name(row: &Value) -> String {
    plain(row["name"].as_str().expect("rows have names")).to_owned()
}

/// The rows of a list of constructs: `-OMP_preg` or `-OMP_task`.
pub(crate) fn constructs(experiment: &Path, list: &str) -> Vec<Construct> {
    let found = reports(experiment, "user", &[list]);
    let construct = |row: &Value| Construct {
        name: name(row),
        instances: row["instances"].as_u64(),
        level: row["nesting"].as_u64().unwrap_or(1),
        row: row.clone(),
    };
    rows(&found[0]).iter().map(construct).collect()
}

/// Checks that a list has just these constructs, one row each, with their numbers of instances, at
/// level 1.
pub(crate) fn just(found: &[Construct], expected: &[(&str, u64)]) -> Result<(), String> {
    let of_row = |it: &Construct| (it.name.clone(), it.instances, it.level);
    let mut found: Vec<_> = found.iter().map(of_row).collect();
    let of_pair = |&(name, instances): &(&str, u64)| (name.to_owned(), Some(instances), 1);
    let mut expected: Vec<_> = expected.iter().map(of_pair).collect();
    found.sort();
    expected.sort();
    if found == expected {
        return Ok(());
    }
    let lines = |list: &[(String, Option<u64>, u64)]| {
        let line = |(name, instances, level): &(String, Option<u64>, u64)| {
            let instances = instances.map_or("unknown".to_owned(), |it| it.to_string());
            format!("\n  {instances} of {name}, level {level}")
        };
        list.iter().map(line).collect::<String>()
    };
    let (found, expected) = (lines(&found), lines(&expected));
    Err(format!("the rows are{found}\nand not{expected}"))
}

/// The call tree of user mode.
pub(crate) struct Tree(Node);

impl Tree {
    pub(crate) fn of(experiment: &Path) -> Tree {
        Tree(Node::load(experiment, "user"))
    }

    /// The plain names of each node and those above it, outermost first.
    pub(crate) fn paths(&self) -> Vec<Vec<String>> {
        let mut paths = Vec::new();
        self.0.walk(&mut |above, node| {
            let names = above.iter().copied().chain([node.name.as_str()]);
            paths.push(names.map(|name| plain(name).to_owned()).collect());
        });
        paths
    }

    /// The seconds of a metric at and below all nodes whose path [`ends_with`] these names.
    pub(crate) fn seconds(&self, path: &[&str], metric: &str) -> f64 {
        let mut sum = 0.0;
        self.0.walk(&mut |above, node| {
            let names: Vec<&str> = above.iter().copied().chain([node.name.as_str()]).collect();
            if ends_with(&names, path) {
                sum += node.all.get(metric).copied().unwrap_or(0.0);
            }
        });
        sum
    }
}

/// Whether these are the last names of a path. Of a construct, `foo -- OMP …`, the beginning is
/// enough.
pub(crate) fn ends_with<T: AsRef<str>>(names: &[T], path: &[&str]) -> bool {
    let is = |(name, expected): (&T, &&str)| {
        let name = name.as_ref();
        name == *expected || expected.contains(" -- OMP ") && name.starts_with(expected)
    };
    let skipped = names.len().checked_sub(path.len());
    skipped.is_some_and(|skipped| names[skipped..].iter().zip(path).all(is))
}

/// The faults of a report, a sentence each.
#[derive(Default)]
pub(crate) struct Faults(Vec<String>);

impl Faults {
    /// Adds a sentence unless the condition holds.
    pub(crate) fn unless(&mut self, holds: bool, sentence: impl FnOnce() -> String) {
        if holds {
            return;
        }
        let sentence = sentence();
        if !self.0.contains(&sentence) {
            self.0.push(sentence);
        }
    }

    /// Adds a sentence if the times differ by more than this share of what the program measured and
    /// 20 ms: the thread may lose its CPU between an event and the program's look at the clock.
    pub(crate) fn near(&mut self, what: &str, found: f64, truth: f64, share: f64) {
        self.unless((found - truth).abs() <= share * truth + 0.020, || {
            format!("{what}: {found:.3} s, and the program measured {truth:.3} s")
        });
    }

    /// Adds what a check found.
    pub(crate) fn note(&mut self, found: Result<(), String>) {
        self.0.extend(found.err());
    }

    /// The outcome: an error with all sentences, if there are any.
    pub(crate) fn found(self) -> Result<(), String> {
        if self.0.is_empty() {
            Ok(())
        } else {
            Err(self.0.join("\n"))
        }
    }
}

/// The numbers in a text, in order.
pub(crate) fn numbers(text: &str) -> Vec<f64> {
    text.split(|c: char| !c.is_ascii_digit() && c != '.')
        .filter_map(|word| word.parse().ok())
        .collect()
}

/// The experiment's header, with what `er_print` adds to it.
pub(crate) fn header(experiment: &Path) -> Value {
    reports(experiment, "user", &["-header"]).swap_remove(0)
}

/// The header's notes and warnings.
pub(crate) fn notes(header: &Value) -> Vec<String> {
    let lists = [
        &header["header"]["notes"],
        &header["warnings"],
        &header["notices"],
    ];
    let all = lists.iter().filter_map(|list| list.as_array()).flatten();
    all.map(|note| match note.as_str() {
        Some(text) => text.to_owned(),
        None => note.to_string(),
    })
    .collect()
}
