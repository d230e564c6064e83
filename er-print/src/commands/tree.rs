//! `calltree`, `callers-callees`.

use omp_model::metrics::{Column, Flavour, Quantity};
use omp_model::views::Code;
use omp_model::views::calltree::{self as tree_view, TreeRow};
use omp_model::views::neighbours::{self, Neighbour, Neighbours};
use serde_json::{Value, json};

use super::functions::seconds;
use super::lists::footer;
use crate::failure::Stop;
use crate::json;
use crate::session::{PrintMode, Scene, Session};
use crate::text::Line;

/// The call tree.
pub(crate) fn calltree(session: &mut Session<'_>, _: &[String]) -> Result<(), Stop> {
    let report = {
        let scene = session.scene()?;
        let mut rows = tree_view::calltree(scene.profile, &scene.names, &scene.request);
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
    let mut open: Vec<&str> = Vec::new();
    let lines: Vec<Line<'_>> = rows
        .iter()
        .map(|row| {
            open.truncate(row.depth as usize);
            let lead = format!(" {}+-", open.concat());
            open.push(if row.last { "  " } else { "|  " });
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

/// Rows nest in `children`, as deep as the stacks are: written row by row, without recursion.
fn tree_json(scene: &Scene<'_>, rows: &[TreeRow]) -> String {
    let quantities = tree_quantities(scene);
    let mut text = String::from("[");
    let mut open = 0;
    for row in rows {
        if open > row.depth {
            text.push_str(&"]}".repeat((open - row.depth) as usize));
            text.push(',');
        }
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
        let name = Value::from(row.name.as_str());
        text.push_str(&format!(
            "{{\"name\":{name},\"values\":{values},\"children\":["
        ));
        open = row.depth + 1;
    }
    text.push_str(&"]}".repeat(open as usize));
    text.push(']');
    json::report_of_text(scene, "calltree", &quantities, &text)
}

/// Each function between its callers and callees.
pub(crate) fn callers_callees(session: &mut Session<'_>, _: &[String]) -> Result<(), Stop> {
    let report = {
        let scene = session.scene()?;
        let mut blocks = neighbours::callers_callees(scene.profile, &scene.names, &scene.request);
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
