//! The file format of <https://www.speedscope.app> (`speedscope/src/lib/file-format-spec.ts`).
//!
//! A profile for each metric, then one for each thread by the first of them. A profile is a list of
//! different stacks with their sums, so no two neighbours are alike; it tells nothing of the order in time.

use std::collections::BTreeMap;
use std::io::{self, Write};

use experiment::ids::ThreadId;
use omp_model::metrics::Metric;
use report::Query;
use serde_json::{Value as Json, json};

use crate::functions::Functions;
use crate::subject::{EXPORTER, Subject};
use crate::tree::Tree;

const SCHEMA: &str = "https://www.speedscope.app/file-format-schema.json";

pub(crate) fn write(query: &Query<'_>, out: &mut dyn Write) -> io::Result<()> {
    let subject = Subject::new(query);
    let metrics = subject.metrics();
    let mut functions = Functions::new(subject.names);
    let profile = subject.profile();
    let tree = Tree::new(profile, &mut functions);
    let order: Vec<u32> = tree.preorder(&functions).iter().map(|it| it.0).collect();
    let name = match subject.notes(&metrics).as_slice() {
        [] => subject.title(),
        notes => format!("{} ({})", subject.title(), notes.join("; ")),
    };
    write!(out, "{{\"$schema\":{},", json!(SCHEMA))?;
    write!(
        out,
        "\"exporter\":{},\"name\":{},",
        json!(EXPORTER),
        json!(name)
    )?;
    write!(out, "\"activeProfileIndex\":0,\"shared\":{{\"frames\":[")?;
    for (at, function) in functions.rows().iter().enumerate() {
        let mut frame = json!({"name": function.name});
        if let Some(path) = function.file.and_then(|file| functions.path(file)) {
            frame["file"] = json!(path);
            if function.line > 0 {
                frame["line"] = json!(function.line);
            }
        }
        write!(out, "{}{frame}", comma(at))?;
    }
    write!(out, "]}},\"profiles\":[")?;
    for (at, &metric) in metrics.iter().enumerate() {
        let sums = tree.sums(profile, |item| metric.value(item));
        let samples = order.iter().map(|&node| (node, sums[node as usize]));
        write!(out, "{}", comma(at))?;
        sampled(out, (&metric.label(), metric), &tree, samples)?;
    }
    let first = metrics.first().copied().unwrap_or(Metric::Total);
    let mut place = vec![0; tree.len()];
    for (at, &node) in order.iter().enumerate() {
        place[node as usize] = at as u32;
    }
    let mut by_thread = BTreeMap::<ThreadId, BTreeMap<u32, f64>>::new();
    for item in &profile.items {
        let value = first.value(item);
        if value > 0.0 {
            let at = place[tree.node_of(item.path) as usize];
            let sums = by_thread.entry(item.thread).or_default();
            *sums.entry(at).or_default() += value;
        }
    }
    if by_thread.len() > 1 {
        for (thread, sums) in by_thread {
            let samples = sums.into_iter().map(|(at, sum)| (order[at as usize], sum));
            let name = format!("{}: {}", subject.thread_name(thread), first.label());
            write!(out, ",")?;
            sampled(out, (&name, first), &tree, samples)?;
        }
    }
    write!(out, "]}}")
}

/// A sampled profile: stacks with their values, those of 0 left out.
fn sampled(
    out: &mut dyn Write,
    (name, metric): (&str, Metric),
    tree: &Tree,
    samples: impl Iterator<Item = (u32, f64)>,
) -> io::Result<()> {
    let unit = if metric.is_time() { "seconds" } else { "none" };
    let (mut weights, mut end) = (Vec::new(), 0.0);
    write!(
        out,
        "{{\"type\":\"sampled\",\"name\":{},\"unit\":\"{unit}\",\"startValue\":0,\"samples\":[",
        json!(name)
    )?;
    let mut stack = Vec::new();
    for (node, value) in samples.filter(|(_, value)| *value > 0.0) {
        stack.clear();
        let mut at = node;
        while at != 0 {
            let node = tree.get(at);
            stack.push(Json::from(node.function.0));
            at = node.callers;
        }
        stack.reverse();
        let stack = Json::Array(std::mem::take(&mut stack));
        write!(out, "{}{stack}", comma(weights.len()))?;
        weights.push(value);
        end += value;
    }
    write!(out, "],\"weights\":[")?;
    for (at, weight) in weights.iter().enumerate() {
        write!(out, "{}{}", comma(at), Json::from(*weight))?;
    }
    write!(out, "],\"endValue\":{}}}", Json::from(end))
}

/// What stands before the `at`-th element of a list.
const fn comma(at: usize) -> &'static str {
    if at == 0 { "" } else { "," }
}
