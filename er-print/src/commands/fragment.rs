//! `csingle` and the commands that change its stack fragment.

use report::find::Named;
use report::fragment::fragment;

use super::named;
use crate::session::Session;
use crate::stop::Stop;

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

fn change(
    session: &mut Session<'_>,
    command: &str,
    arguments: &[String],
    change: impl FnOnce(&mut Vec<Named>, Named),
) -> Result<(), Stop> {
    let function = named(command, arguments)?;
    let mut functions = session.settings.fragment.clone();
    change(&mut functions, function);
    show(session, command, functions)
}

fn shorten(
    session: &mut Session<'_>,
    command: &str,
    change: impl FnOnce(&mut Vec<Named>),
) -> Result<(), Stop> {
    let mut functions = session.settings.fragment.clone();
    if functions.len() < 2 {
        return Err(Stop::Usage(format!(
            "{command} takes a function off the stack fragment, which has {}: csingle begins one",
            match functions.len() {
                0 => "none",
                _ => "only one",
            }
        )));
    }
    change(&mut functions);
    show(session, command, functions)
}

/// The fragment changes only if its functions are there.
fn show(session: &mut Session<'_>, command: &str, functions: Vec<Named>) -> Result<(), Stop> {
    let document = fragment(&session.comparison()?, command, &functions)?;
    session.settings.fragment = functions;
    session.show(&document)
}
