//! Folded stacks: a line for each stack, `main;foo;<OMP implicit barrier> 1204000`, as
//! Brendan Gregg's `flamegraph.pl` reads them.
//!
//! The number is the metric in whole microseconds, or events of a counter. The format has no place for notes.

use std::io::{self, Write};

use report::Query;

use crate::functions::Functions;
use crate::rounding::Rounding;
use crate::subject::Subject;
use crate::tree::Tree;

const MICROSECONDS: f64 = 1e6;

pub(crate) fn write(query: &Query<'_>, out: &mut dyn Write) -> io::Result<()> {
    let subject = Subject::new(query);
    let metric = subject.metric();
    let mut functions = Functions::new(subject.names);
    let profile = subject.profile();
    let tree = Tree::new(profile, &mut functions);
    let sums = tree.sums(profile, |item| metric.value(item));
    let unit = if metric.is_time() { MICROSECONDS } else { 1.0 };
    // A semicolon would end the function.
    let rows = functions.rows().iter();
    let names: Vec<String> = rows.map(|it| it.name.replace(';', ",")).collect();
    let mut rounding = Rounding::default();
    let mut line = String::new();
    let mut lengths: Vec<usize> = Vec::new();
    for (node, depth) in tree.preorder(&functions) {
        lengths.truncate(depth as usize - 1);
        line.truncate(lengths.last().copied().unwrap_or(0));
        if !line.is_empty() {
            line.push(';');
        }
        line.push_str(&names[tree.get(node).function.0 as usize]);
        lengths.push(line.len());
        let count = rounding.next(unit * sums[node as usize]);
        if count > 0 {
            writeln!(out, "{line} {count}")?;
        }
    }
    Ok(())
}
