//! `functions`, `lines`, `pcs`.

use omp_model::metrics::{Flavour, Quantity};
use omp_model::views::functions::List;
use omp_model::views::{Request, Row, annotated, functions as view, lines as line_view};
use serde_json::{Value, json};

use super::compare::{self, Beside};
use super::lists::footer;
use crate::failure::Stop;
use crate::json;
use crate::session::{PrintMode, Scene, Session};
use crate::text::Line;

/// The list of functions.
pub(crate) fn functions(session: &mut Session<'_>, _: &[String]) -> Result<(), Stop> {
    let text = match Beside::of(session)? {
        Some(beside) => compare::functions(&beside)?,
        None => {
            let scene = session.scene()?;
            let list = view::functions(scene.profile(), &scene.names, &scene.request);
            report(&scene, "functions", "Functions", &list)
        }
    };
    session.print(&text)
}

/// The list of source lines.
pub(crate) fn lines(session: &mut Session<'_>, _: &[String]) -> Result<(), Stop> {
    let text = match Beside::of(session)? {
        Some(beside) => compare::lines(&beside)?,
        None => {
            let scene = session.scene()?;
            let list = line_view::lines(scene.profile(), &scene.names, &scene.request);
            report(&scene, "lines", "Lines", &list)
        }
    };
    session.print(&text)
}

/// The list of instructions.
pub(crate) fn pcs(session: &mut Session<'_>, _: &[String]) -> Result<(), Stop> {
    let text = match Beside::of(session)? {
        Some(beside) => compare::pcs(&beside)?,
        None => {
            let scene = session.scene()?;
            let list = annotated::pcs(scene.profile(), &scene.names, &scene.request);
            report(&scene, "pcs", "PCs", &list)
        }
    };
    session.print(&text)
}

/// The seconds of a quantity in a row.
pub(crate) fn seconds(request: &Request, row: &Row, quantity: Quantity) -> f64 {
    let Quantity::Time(flavour, metric) = quantity else {
        return 0.0;
    };
    let values = match flavour {
        Flavour::Exclusive => &row.exclusive,
        Flavour::Inclusive | Flavour::Attributed => &row.inclusive,
    };
    request.index(metric).map_or(0.0, |at| values[at])
}

/// A list in the current form.
pub(crate) fn report(scene: &Scene<'_>, view: &str, title: &str, list: &List) -> String {
    let all = std::iter::once(&list.total).chain(&list.rows);
    let rows = all.take(scene.limited(list.rows.len() + 1));
    match scene.settings.print {
        PrintMode::Json => {
            let metrics = json::quantities(&scene.columns);
            let rows: Vec<Value> = rows
                .map(|row| {
                    let time = |quantity| seconds(&scene.request, row, quantity);
                    json!({
                        "name": row.name,
                        "values": json::values(&metrics, row.code, time),
                    })
                })
                .collect();
            json::report(scene, view, &metrics, rows)
        }
        PrintMode::Text => {
            let lines: Vec<Line<'_>> = rows.map(|row| line(scene, row, &list.total)).collect();
            let by = scene.request.sort.quantity.label();
            let table = scene.table(&scene.columns, &lines);
            format!(
                "{title} sorted by metric: {by}\n\n{table}\n{}",
                footer(scene)
            )
        }
    }
}

fn line<'a>(scene: &Scene<'_>, row: &'a Row, total: &Row) -> Line<'a> {
    let times = scene.columns.iter().map(|column| column.quantity);
    let times = times.filter(|quantity| matches!(quantity, Quantity::Time(..)));
    Line {
        times: times
            .map(|quantity| {
                let of = |row| seconds(&scene.request, row, quantity);
                (of(row), of(total))
            })
            .collect(),
        code: row.code,
        lead: " ".to_owned(),
        name: &row.name,
    }
}
