//! A calling context tree as LLNL's Hatchet loads it from a literal: `GraphFrame.from_literal(json.load(…))`.
//!
//! A list with one tree below `<Total>`. A node has each metric's sum at itself, and with the callees'
//! (`(inc)`) what is at it and below. All thread time is called `time`, as Hatchet's default metric is;
//! `inferred` is the part of the time that has an inferred stack.

use std::io::{self, Write};

use omp_model::metrics::Metric;
use omp_model::profile::Item;
use omp_model::views::TOTAL;
use report::Query;
use serde_json::{Value as Json, json};

use crate::functions::Functions;
use crate::subject::Subject;
use crate::tree::Tree;

/// A column: its name in JSON and its name with the callees', and the sums by node.
struct Column {
    names: [Json; 2],
    own: Vec<f64>,
    below: Vec<f64>,
}

pub(crate) fn write(query: &Query<'_>, out: &mut dyn Write) -> io::Result<()> {
    let subject = Subject::new(query);
    let mut functions = Functions::new(subject.names);
    let profile = subject.profile();
    let tree = Tree::new(profile, &mut functions);
    let column = |name: &str, own: Vec<f64>| {
        let mut below = own.clone();
        tree.add_up(&mut below);
        Column {
            names: [json!(name), json!(format!("{name} (inc)"))],
            own,
            below,
        }
    };
    let metrics = subject.analysis().available().metrics().iter();
    let mut columns: Vec<Column> = metrics
        .map(|&metric| {
            let name = match metric {
                Metric::Total => "time",
                other => other.id(),
            };
            column(name, tree.sums(profile, |item| metric.value(item)))
        })
        .collect();
    let inferred = |item: &Item| if item.inferred { item.seconds } else { 0.0 };
    let inferred = tree.sums(profile, inferred);
    columns.push(column("inferred", inferred));
    // Nodes without anything at them or below are left out; so are those of the filter's other stacks.
    let is_shown = |node: u32| columns.iter().any(|it| it.below[node as usize] > 0.0);
    write!(out, "[")?;
    node(out, TOTAL, &columns, 0)?;
    let mut before = 0;
    for (at, depth) in tree.preorder(&functions) {
        if !is_shown(at) {
            continue;
        }
        if depth > before {
            write!(out, ",\"children\":[")?;
        } else {
            for _ in depth..before {
                write!(out, "}}]")?;
            }
            write!(out, "}},")?;
        }
        before = depth;
        let name = &functions.get(tree.get(at).function).name;
        node(out, name, &columns, at)?;
    }
    for _ in 0..before {
        write!(out, "}}]")?;
    }
    write!(out, "}}]")
}

/// A node without its end.
fn node(out: &mut dyn Write, name: &str, columns: &[Column], at: u32) -> io::Result<()> {
    let frame = json!({"name": name, "type": "function"});
    write!(out, "{{\"frame\":{frame},\"metrics\":{{")?;
    for (number, column) in columns.iter().enumerate() {
        let comma = if number == 0 { "" } else { "," };
        let [own, below] = [&column.own, &column.below].map(|it| Json::from(it[at as usize]));
        let [name, inclusive] = &column.names;
        write!(out, "{comma}{name}:{own},{inclusive}:{below}")?;
    }
    write!(out, "}}")
}
