//! `csingle` and the commands that make its stack fragment longer and shorter.

use omp_model::metrics::Quantity;
use omp_model::views::fragment::{Piece, Shown, piece};
use omp_model::views::functions as view;
use omp_model::views::neighbours::Neighbour;
use serde_json::{Value, json};

use super::compare::{self, Beside};
use super::details::choose;
use super::lists::footer;
use super::tree::line;
use crate::failure::Stop;
use crate::json;
use crate::session::{PrintMode, Scene, Session};
use crate::text::Line;

/// Begins a fragment with one function.
pub(crate) fn csingle(session: &mut Session<'_>, arguments: &[String]) -> Result<(), Stop> {
    change(session, "csingle", arguments, |fragment, function| {
        *fragment = vec![function];
    })
}

/// Puts a caller before it.
pub(crate) fn cprepend(session: &mut Session<'_>, arguments: &[String]) -> Result<(), Stop> {
    change(session, "cprepend", arguments, |fragment, function| {
        fragment.insert(0, function);
    })
}

/// Puts a callee behind it.
pub(crate) fn cappend(session: &mut Session<'_>, arguments: &[String]) -> Result<(), Stop> {
    change(session, "cappend", arguments, |fragment, function| {
        fragment.push(function);
    })
}

/// Takes the first function off.
pub(crate) fn crmfirst(session: &mut Session<'_>, _: &[String]) -> Result<(), Stop> {
    shorten(session, "crmfirst", |fragment| {
        fragment.remove(0);
    })
}

/// Takes the last function off.
pub(crate) fn crmlast(session: &mut Session<'_>, _: &[String]) -> Result<(), Stop> {
    shorten(session, "crmlast", |fragment| {
        fragment.pop();
    })
}

/// A function by its name, and which of that name.
pub(super) type Named = (String, Option<usize>);

/// The fragment changes only if the function is there.
fn change(
    session: &mut Session<'_>,
    command: &str,
    arguments: &[String],
    change: impl FnOnce(&mut Vec<Named>, Named),
) -> Result<(), Stop> {
    let number = match arguments.get(1) {
        Some(word) => Some(super::count(command, word)?),
        None => None,
    };
    let mut fragment = session.settings.fragment.functions.clone();
    change(&mut fragment, (arguments[0].clone(), number));
    show(session, command, fragment)
}

fn shorten(
    session: &mut Session<'_>,
    command: &str,
    change: impl FnOnce(&mut Vec<Named>),
) -> Result<(), Stop> {
    let mut fragment = session.settings.fragment.functions.clone();
    if fragment.len() < 2 {
        return Err(Stop::Words(format!(
            "{command} takes a function off the stack fragment, which has {}: csingle begins one",
            match fragment.len() {
                0 => "none",
                _ => "only one",
            }
        )));
    }
    change(&mut fragment);
    show(session, command, fragment)
}

fn show(session: &mut Session<'_>, command: &str, fragment: Vec<Named>) -> Result<(), Stop> {
    let report = match Beside::of(session)? {
        Some(beside) => compare::piece(&beside, command, &fragment)?,
        None => {
            let scene = session.scene()?;
            let functions = find(&scene, &fragment)?;
            let piece = piece(scene.profile(), &scene.names, &scene.request, &functions);
            match scene.settings.print {
                PrintMode::Text => piece_text(&scene, &functions, &piece),
                PrintMode::Json => piece_json(&scene, command, &functions, &piece),
            }
        }
    };
    session.settings.fragment.functions = fragment;
    session.print(&report)
}

/// The functions of a fragment as lists show them.
pub(super) fn find(scene: &Scene<'_>, fragment: &[Named]) -> Result<Vec<Shown>, Stop> {
    let list = view::functions(scene.profile(), &scene.names, &scene.request);
    let found = fragment.iter().map(|(name, number)| {
        let row = choose(scene, &list, name, *number)?;
        Ok((row.name.clone(), row.code))
    });
    found.collect()
}

fn piece_text(scene: &Scene<'_>, functions: &[Shown], piece: &Piece) -> String {
    let columns = scene.attributed();
    let none = vec![0.0; piece.whole.len()];
    let side = |edge: &Neighbour| (edge.attributed.to_vec(), edge.code, edge.name.clone(), " ");
    let mut rows: Vec<_> = piece.callers.iter().map(side).collect();
    for (at, (name, code)) in functions.iter().enumerate() {
        // Time passes through all but the last without being spent there.
        let own = match at + 1 == functions.len() {
            true => piece.own.to_vec(),
            false => none.clone(),
        };
        rows.push((own, *code, name.clone(), "*"));
    }
    rows.extend(piece.callees.iter().map(side));
    let lines: Vec<Line<'_>> = rows
        .iter()
        .map(|(own, code, name, mark)| {
            let times = (own.as_slice(), &*piece.whole);
            line(scene, &columns, times, *code, (*mark).to_owned(), name)
        })
        .collect();
    format!(
        "Callers and callees sorted by metric: {}\n\n{}\n{}",
        scene.attributed_sort().quantity.label(),
        scene.table(&columns, &lines),
        footer(scene)
    )
}

fn piece_json(scene: &Scene<'_>, command: &str, functions: &[Shown], piece: &Piece) -> String {
    let quantities = json::quantities(&scene.attributed());
    let values = |seconds: &[f64], code| {
        json::values(&quantities, code, |quantity| match quantity {
            Quantity::Time(_, metric) => scene.index(metric).map_or(0.0, |at| seconds[at]),
            _ => 0.0,
        })
    };
    let edge = |edge: &Neighbour| json!({"name": edge.name, "values": values(&edge.attributed, edge.code)});
    let names: Vec<&str> = functions.iter().map(|(name, _)| name.as_str()).collect();
    let row = json!({
        "name": names.last(),
        "fragment": names,
        "values": values(&piece.own, functions.last().and_then(|last| last.1)),
        "whole": values(&piece.whole, None),
        "callers": piece.callers.iter().map(edge).collect::<Vec<Value>>(),
        "callees": piece.callees.iter().map(edge).collect::<Vec<Value>>(),
    });
    json::report(scene, command, &quantities, vec![row])
}
