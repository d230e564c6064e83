//! Reads `er_print`'s JSON.

use std::collections::BTreeMap;
use std::path::Path;

use serde::Deserialize;
use serde_json::Value;

use crate::tools;

/// Seconds by metric.
pub type Seconds = BTreeMap<String, f64>;

/// The reports of several commands of one run of `er_print`, in their order, with every metric
/// that the experiment has.
///
/// # Panics
/// When `er_print` does not succeed, or prints no JSON.
pub fn reports(experiment: &Path, mode: &str, commands: &[&str]) -> Vec<Value> {
    let mut words = vec!["-printmode", "json", "-viewmode", mode, "-metrics", "all"];
    words.extend(commands);
    let text = tools().print(experiment, &words);
    text.lines()
        .map(|line| {
            // Call trees nest as deep as the program calls.
            let mut reader = serde_json::Deserializer::from_str(line);
            reader.disable_recursion_limit();
            Value::deserialize(&mut reader)
                .unwrap_or_else(|e| panic!("{commands:?} in {mode} mode: {e}"))
        })
        .collect()
}

/// A report's rows.
///
/// # Panics
/// When it has none.
pub fn rows(report: &Value) -> &[Value] {
    report["rows"].as_array().expect("reports have rows")
}

/// The metrics that a report is about, each once.
///
/// # Panics
/// When it names none.
pub fn metrics(report: &Value) -> Vec<String> {
    let all = report["metrics"].as_array().expect("reports have metrics");
    let ids = all.iter().filter_map(|metric| metric["id"].as_str());
    let mut found: Vec<String> = Vec::new();
    for (_, metric) in ids.filter_map(|id| id.split_once('.')) {
        if !found.iter().any(|known| known == metric) {
            found.push(metric.to_owned());
        }
    }
    found
}

/// A row's value.
///
/// # Panics
/// When it does not have it.
pub fn value(row: &Value, flavour: &str, metric: &str) -> f64 {
    let value = &row["values"][format!("{flavour}.{metric}")];
    value
        .as_f64()
        .unwrap_or_else(|| panic!("{} has no {flavour}.{metric}", row["name"]))
}

/// The sum of the rows' values.
pub fn sum<'a>(rows: impl IntoIterator<Item = &'a Value>, flavour: &str, metric: &str) -> f64 {
    let rows = rows.into_iter();
    rows.map(|row| value(row, flavour, metric)).sum()
}

/// What a header's losses tell of a kind: from when to when, in nanoseconds since the start, and how
/// much was lost then.
pub fn lost(losses: &Value, kind: &str) -> Vec<(u64, u64, u64)> {
    let losses = losses["lost"].as_array().into_iter().flatten();
    let stretches = losses
        .filter(|loss| loss["kind"] == kind)
        .flat_map(|loss| loss["stretches"].as_array().into_iter().flatten());
    let number = |stretch: &Value, name: &str| {
        let number = stretch[name].as_u64();
        number.unwrap_or_else(|| panic!("{stretch} has no {name}"))
    };
    stretches
        .map(|it| {
            (
                number(it, "from_ns"),
                number(it, "to_ns"),
                number(it, "count"),
            )
        })
        .collect()
}

/// A node of a call tree.
#[derive(Debug, Clone)]
pub struct Node {
    /// Its name.
    pub name: String,
    /// Time at the node itself.
    pub own: Seconds,
    /// Time at it and below it.
    pub all: Seconds,
    /// The nodes below.
    pub children: Vec<Node>,
}

/// The function list: inclusive seconds by name, the total under `<Total>`.
pub(crate) type Functions = Vec<(String, Seconds)>;

/// A row of the thread list.
#[derive(Debug, Clone)]
pub(crate) struct ThreadRow {
    /// The kernel's number.
    pub(crate) tid: u32,
    /// From its birth to its end, in seconds; infinite where no end is known.
    pub(crate) life: f64,
    /// Its time.
    pub(crate) time: Seconds,
}

/// The thread list.
pub(crate) type Threads = Vec<ThreadRow>;

fn report(experiment: &Path, mode: &str, view: &str) -> Value {
    let mut reports = reports(experiment, mode, &[view]);
    reports.pop().expect("a view prints a report")
}

fn seconds(row: &Value, flavour: &str) -> Seconds {
    let values = row["values"].as_object().expect("rows have values");
    values
        .iter()
        .filter_map(|(id, value)| {
            let metric = id.strip_prefix(flavour)?;
            Some((metric.to_owned(), value.as_f64()?))
        })
        .collect()
}

fn name(row: &Value) -> String {
    row["name"].as_str().expect("rows have names").to_owned()
}

impl Node {
    /// The call tree of an experiment, from `<Total>`.
    ///
    /// # Panics
    /// When `er_print` does not succeed, or prints no tree.
    pub fn load(experiment: &Path, mode: &str) -> Node {
        node(&rows(&report(experiment, mode, "-calltree"))[0])
    }

    /// Calls `visit` with each node and the names above it, outermost first.
    pub fn walk<'a>(&'a self, visit: &mut dyn FnMut(&[&'a str], &'a Node)) {
        let mut above = Vec::new();
        self.walk_under(&mut above, visit);
    }

    fn walk_under<'a>(
        &'a self,
        above: &mut Vec<&'a str>,
        visit: &mut dyn FnMut(&[&'a str], &'a Node),
    ) {
        visit(above, self);
        above.push(&self.name);
        for child in &self.children {
            child.walk_under(above, visit);
        }
        above.pop();
    }
}

fn node(row: &Value) -> Node {
    let children = row["children"].as_array();
    Node {
        name: name(row),
        own: seconds(row, "e."),
        all: seconds(row, "a."),
        children: children.map_or(Vec::new(), |rows| rows.iter().map(node).collect()),
    }
}

/// The functions of an experiment.
pub(crate) fn functions(experiment: &Path, mode: &str) -> Functions {
    let value = report(experiment, mode, "-functions");
    let row = |row: &Value| (name(row), seconds(row, "i."));
    rows(&value).iter().map(row).collect()
}

/// The threads of an experiment.
pub(crate) fn threads(experiment: &Path, mode: &str) -> Threads {
    let value = report(experiment, mode, "-thread_list");
    let number = |row: &Value, field: &str| row[field].as_u64().expect("a number") as u32;
    rows(&value)
        .iter()
        .map(|row| ThreadRow {
            tid: number(row, "tid"),
            life: row["end"].as_f64().unwrap_or(f64::INFINITY)
                - row["start"].as_f64().expect("it began"),
            time: seconds(row, "e."),
        })
        .collect()
}
