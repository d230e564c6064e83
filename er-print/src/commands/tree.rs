//! `calltree`, `callers-callees`.

use omp_model::metrics::{Column, Flavour, Quantity};
use omp_model::views::Code;
use omp_model::views::calltree::{self as tree_view, TreeRow};
use omp_model::views::neighbours::{self, Neighbour, Neighbours};
use serde_json::{Value, json};

use super::compare::{self, Beside};
use super::functions::seconds;
use super::lists::footer;
use crate::failure::Stop;
use crate::json;
use crate::session::{PrintMode, Scene, Session};
use crate::text::Line;

/// The call tree.
pub(crate) fn calltree(session: &mut Session<'_>, _: &[String]) -> Result<(), Stop> {
    let report = if let Some(beside) = Beside::of(session)? {
        compare::calltree(&beside)?
    } else {
        let scene = session.scene()?;
        let mut rows = tree_view::calltree(scene.profile(), &scene.names, &scene.request);
        rows.truncate(scene.limited(rows.len()));
        match scene.settings.print {
            PrintMode::Text => tree_text(&scene, &rows),
            PrintMode::Json => tree_json(&scene, &rows),
        }
    };
    session.print(&report)
}

fn tree_text(scene: &Scene<'_>, rows: &[TreeRow]) -> String {
    let columns = scene.attributed();
    let Some(root) = rows.first() else {
        return String::new();
    };
    let leads = leads(rows.iter().map(|row| (row.depth, row.last)));
    let lines: Vec<Line<'_>> = rows
        .iter()
        .zip(leads)
        .map(|(row, lead)| {
            let (own, whole) = (&row.attributed, &root.attributed);
            line(scene, &columns, (own, whole), row.code, lead, &row.name)
        })
        .collect();
    let by = scene.attributed_sort().quantity.label();
    let table = scene.table(&columns, &lines);
    format!(
        "Functions Call Tree. Metric: {by}\n\n{table}\n{}",
        footer(scene)
    )
}

/// What stands before the names of a tree: the depth of each node in preorder, and whether it is
/// the last of its siblings.
pub(super) fn leads(nodes: impl Iterator<Item = (u32, bool)>) -> Vec<String> {
    let mut open: Vec<&str> = Vec::new();
    nodes
        .map(|(depth, last)| {
            open.truncate(depth as usize);
            let lead = format!(" {}+-", open.concat());
            open.push(if last { "  " } else { "|  " });
            lead
        })
        .collect()
}

/// A line of attributed times: (the row's, those that are 100 %).
pub(crate) fn line<'a>(
    scene: &Scene<'_>,
    columns: &[Column],
    (part, whole): (&[f64], &[f64]),
    code: Option<Code>,
    lead: String,
    name: &'a str,
) -> Line<'a> {
    let times = columns
        .iter()
        .filter_map(|column| match column.quantity {
            Quantity::Time(_, metric) => scene.index(metric),
            _ => None,
        })
        .map(|at| (part[at], whole[at]))
        .collect();
    Line {
        times,
        code,
        lead,
        name,
    }
}

/// At a node of the tree inclusive and attributed time are the same; each has its key, so that a
/// script finds the metric that it knows from the list of functions.
fn tree_quantities(scene: &Scene<'_>) -> Vec<Quantity> {
    let flavours = [Flavour::Attributed, Flavour::Exclusive, Flavour::Inclusive];
    let quantities = json::quantities(&scene.attributed());
    quantities
        .into_iter()
        .flat_map(|quantity| match quantity {
            Quantity::Time(_, metric) => flavours
                .map(|flavour| Quantity::Time(flavour, metric))
                .to_vec(),
            other => vec![other],
        })
        .collect()
}

/// Rows in preorder, nested in `children`: each with its depth, as a JSON object of its own. They
/// nest as deep as the stacks are, so that they are written row by row, without recursion.
pub(super) fn nested(rows: impl Iterator<Item = (u32, String)>) -> String {
    let mut text = String::from("[");
    let mut open = 0;
    for (depth, object) in rows {
        if open > depth {
            text.push_str(&"]}".repeat((open - depth) as usize));
            text.push(',');
        }
        text.push_str(&object[..object.len() - 1]);
        text.push_str(",\"children\":[");
        open = depth + 1;
    }
    text.push_str(&"]}".repeat(open as usize));
    text.push(']');
    text
}

fn tree_json(scene: &Scene<'_>, rows: &[TreeRow]) -> String {
    let quantities = tree_quantities(scene);
    let rows = rows.iter().map(|row| {
        let time = |quantity| match quantity {
            Quantity::Time(flavour, metric) => {
                scene.index(metric).map_or(0.0, |at| match flavour {
                    Flavour::Exclusive => row.exclusive[at],
                    Flavour::Inclusive | Flavour::Attributed => row.attributed[at],
                })
            }
            _ => 0.0,
        };
        let values = json::values(&quantities, row.code, time);
        (
            row.depth,
            json!({"name": row.name, "values": values}).to_string(),
        )
    });
    json::report_of_text(scene, "calltree", &quantities, &nested(rows))
}

/// Each function between its callers and callees.
pub(crate) fn callers_callees(session: &mut Session<'_>, _: &[String]) -> Result<(), Stop> {
    let report = if let Some(beside) = Beside::of(session)? {
        compare::callers_callees(&beside)?
    } else {
        let scene = session.scene()?;
        let mut blocks = neighbours::callers_callees(scene.profile(), &scene.names, &scene.request);
        blocks.truncate(scene.limited(blocks.len()));
        match scene.settings.print {
            PrintMode::Text => neighbours_text(&scene, &blocks),
            PrintMode::Json => neighbours_json(&scene, &blocks),
        }
    };
    session.print(&report)
}

fn neighbours_text<'a>(scene: &Scene<'_>, blocks: &'a [Neighbours]) -> String {
    let columns = scene.attributed();
    let mut report = format!(
        "Functions sorted by metric: {}\nCallers and callees sorted by metric: {}\n\n",
        scene.request.sort.quantity.label(),
        scene.attributed_sort().quantity.label()
    );
    for block in blocks {
        let whole: &[f64] = &block.row.inclusive;
        let make = |mark: &str, part: &[f64], code, name: &'a str| {
            line(scene, &columns, (part, whole), code, mark.to_owned(), name)
        };
        let side = |edge: &'a Neighbour| make(" ", &edge.attributed, edge.code, &edge.name);
        let mut lines: Vec<Line<'_>> = block.callers.iter().map(side).collect();
        lines.push(make(
            "*",
            &block.row.exclusive,
            block.row.code,
            &block.row.name,
        ));
        lines.extend(block.callees.iter().map(side));
        report.push_str(&scene.table(&columns, &lines));
        report.push('\n');
    }
    report + &footer(scene)
}

fn neighbours_json(scene: &Scene<'_>, blocks: &[Neighbours]) -> String {
    let attributed = json::quantities(&scene.attributed());
    let own = json::quantities(&scene.columns);
    let metrics: Vec<Quantity> = {
        let more = attributed.iter().filter(|quantity| !own.contains(quantity));
        own.iter().chain(more).copied().collect()
    };
    let edge = |edge: &Neighbour| {
        let time = |quantity| match quantity {
            Quantity::Time(_, metric) => scene.index(metric).map_or(0.0, |at| edge.attributed[at]),
            _ => 0.0,
        };
        json!({"name": edge.name, "values": json::values(&attributed, edge.code, time)})
    };
    let rows: Vec<Value> = blocks
        .iter()
        .map(|block| {
            // What is attributed to the function itself is what it spends at the leaf.
            let time = |quantity| match quantity {
                Quantity::Time(Flavour::Attributed, metric) => seconds(
                    &scene.request,
                    &block.row,
                    Quantity::Time(Flavour::Exclusive, metric),
                ),
                other => seconds(&scene.request, &block.row, other),
            };
            json!({
                "name": block.row.name,
                "values": json::values(&metrics, block.row.code, time),
                "callers": block.callers.iter().map(edge).collect::<Vec<_>>(),
                "callees": block.callees.iter().map(edge).collect::<Vec<_>>(),
            })
        })
        .collect();
    json::report(scene, "callers-callees", &metrics, rows)
}
