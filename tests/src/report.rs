//! What `er_print` says, read from its JSON.

use std::collections::BTreeMap;
use std::path::Path;

use serde::Deserialize;
use serde_json::Value;

use crate::tools;

/// The metrics that a report is asked for: of any program, and of one with OpenMP.
const PLAIN: [&str; 3] = ["total", "totalcpu", "offcpu"];
const OPENMP: [&str; 13] = [
    "ompwork",
    "ompwait",
    "offcpuwork",
    "ompovhd",
    "omprduc",
    "ompibar",
    "ompebar",
    "ompidle",
    "omplkwt",
    "ompctwt",
    "ompodwt",
    "ompatwt",
    "omptskwt",
];

/// Seconds by metric.
pub(crate) type Seconds = BTreeMap<String, f64>;

/// A node of a call tree.
#[derive(Debug, Clone)]
pub(crate) struct Node {
    /// Its name.
    pub(crate) name: String,
    /// Time at the node itself.
    pub(crate) own: Seconds,
    /// Time at it and below it.
    pub(crate) all: Seconds,
    /// The nodes below.
    pub(crate) children: Vec<Node>,
}

/// The function list: inclusive seconds by name, the total under `<Total>`.
pub(crate) type Functions = Vec<(String, Seconds)>;

/// A row of the thread list.
#[derive(Debug, Clone)]
pub(crate) struct ThreadRow {
    /// The kernel's number.
    pub(crate) tid: u32,
    /// From its birth to its end, in seconds.
    pub(crate) life: f64,
    /// Its time.
    pub(crate) time: Seconds,
}

/// The thread list.
pub(crate) type Threads = Vec<ThreadRow>;

/// An experiment to report on.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Source<'a> {
    /// Its directory.
    pub(crate) experiment: &'a Path,
    /// Whether its program uses OpenMP.
    pub(crate) openmp: bool,
}

fn print(source: Source<'_>, mode: &str, view: &str) -> Value {
    let openmp: &[&str] = if source.openmp { &OPENMP } else { &[] };
    let metrics = PLAIN.iter().chain(openmp);
    let list: Vec<String> = metrics.map(|m| format!("e.{m}:i.{m}")).collect();
    let list = format!("{}:name", list.join(":"));
    let commands = [
        "-printmode",
        "json",
        "-viewmode",
        mode,
        "-metrics",
        &list,
        view,
    ];
    let text = tools().print(source.experiment, &commands);
    let mut reader = serde_json::Deserializer::from_str(&text);
    reader.disable_recursion_limit();
    Value::deserialize(&mut reader).unwrap_or_else(|e| panic!("{view} in {mode} mode: {e}"))
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

fn rows(value: &Value) -> &[Value] {
    value["rows"].as_array().expect("reports have rows")
}

fn name(row: &Value) -> String {
    row["name"].as_str().expect("rows have names").to_owned()
}

impl Node {
    /// The call tree of an experiment, from `<Total>`.
    pub(crate) fn load(source: Source<'_>, mode: &str) -> Node {
        node(&rows(&print(source, mode, "-calltree"))[0])
    }

    /// Calls `visit` with each node and the names above it, outermost first.
    pub(crate) fn walk<'a>(&'a self, visit: &mut dyn FnMut(&[&'a str], &'a Node)) {
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
pub(crate) fn functions(source: Source<'_>, mode: &str) -> Functions {
    let value = print(source, mode, "-functions");
    let row = |row: &Value| (name(row), seconds(row, "i."));
    rows(&value).iter().map(row).collect()
}

/// The threads of an experiment.
pub(crate) fn threads(source: Source<'_>, mode: &str) -> Threads {
    let value = print(source, mode, "-thread_list");
    let number = |row: &Value, field: &str| row[field].as_u64().expect("a number") as u32;
    rows(&value)
        .iter()
        .map(|row| ThreadRow {
            tid: number(row, "tid"),
            life: row["end"].as_f64().expect("it ended") - row["start"].as_f64().expect("it began"),
            time: seconds(row, "e."),
        })
        .collect()
}
