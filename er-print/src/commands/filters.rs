//! `filters` and its short forms, and the choice of load objects.

use omp_model::filter::{Filter, Word};
use omp_model::spelling::nearest;
use omp_model::views::visibility::Visibility;
use report::settings::{bare_object as bare, object_names as names};

use crate::session::Session;
use crate::stop::Stop;

/// Keeps the time for which an expression is true.
pub(crate) fn filters(session: &mut Session<'_>, arguments: &[String]) -> Result<(), Stop> {
    let text = arguments[0].trim();
    let filter = Filter::parse(text).map_err(|error| Stop::Usage(error.to_string()))?;
    // The expression 1 removes the filter, and the note of it under each table.
    session.settings.written = (text != "1").then_some(filter);
    combine(session)
}

/// Keeps some threads.
pub(crate) fn thread_select(session: &mut Session<'_>, arguments: &[String]) -> Result<(), Stop> {
    select(session, "thread_select", Word::Thread, &arguments[0])
}

/// Keeps some kernel threads.
pub(crate) fn lwp_select(session: &mut Session<'_>, arguments: &[String]) -> Result<(), Stop> {
    select(session, "lwp_select", Word::Lwp, &arguments[0])
}

/// Keeps some CPUs.
pub(crate) fn cpu_select(session: &mut Session<'_>, arguments: &[String]) -> Result<(), Stop> {
    select(session, "cpu_select", Word::Cpu, &arguments[0])
}

/// Keeps some sample points.
pub(crate) fn sample_select(session: &mut Session<'_>, arguments: &[String]) -> Result<(), Stop> {
    select(session, "sample_select", Word::Sample, &arguments[0])
}

/// Replaces the selection by a word, by a list such as `1,3-5` or `all`.
fn select(session: &mut Session<'_>, command: &str, word: Word, list: &str) -> Result<(), Stop> {
    let selected = &mut session.settings.selected;
    if list.eq_ignore_ascii_case("all") {
        selected.retain(|(known, _)| *known != word);
        return combine(session);
    }
    let wrong = || {
        Stop::Usage(format!(
            "{command} takes numbers such as 1,3-5, or all, not \"{list}\""
        ))
    };
    let part = |part: &str| {
        let digits = |text: &str| !text.is_empty() && text.bytes().all(|b| b.is_ascii_digit());
        match part.split_once('-') {
            Some((low, high)) => digits(low) && digits(high),
            None => digits(part),
        }
    };
    if !list.split(',').all(part) {
        return Err(wrong());
    }
    let filter = Filter::parse(&format!("{} IN ({list})", word.name())).map_err(|_| wrong())?;
    selected.retain(|(known, _)| *known != word);
    selected.push((word, filter));
    combine(session)
}

/// Applies the conjunction of the filter and all selections.
fn combine(session: &mut Session<'_>) -> Result<(), Stop> {
    let settings = &session.settings;
    let selected = settings.selected.iter().map(|(_, filter)| filter);
    let mut all: Option<Filter> = None;
    for filter in settings.written.iter().chain(selected) {
        all = Some(match all {
            None => filter.clone(),
            Some(sum) => sum
                .and(filter)
                .map_err(|error| Stop::Usage(error.to_string()))?,
        });
    }
    session.set_filter(all);
    Ok(())
}

/// Lists the words of filters.
pub(crate) fn describe(session: &mut Session<'_>, _: &[String]) -> Result<(), Stop> {
    let document = report::describe::describe(&session.settings);
    session.show(&document)
}

/// Shows functions of these load objects only.
pub(crate) fn object_select(session: &mut Session<'_>, arguments: &[String]) -> Result<(), Stop> {
    check(session, &arguments[0])?;
    session.set_objects(|objects| objects.select(&arguments[0]));
    Ok(())
}

/// Shows load objects in full.
pub(crate) fn object_show(session: &mut Session<'_>, arguments: &[String]) -> Result<(), Stop> {
    set(session, &arguments[0], Visibility::Show)
}

/// Shows load objects as one function each.
pub(crate) fn object_hide(session: &mut Session<'_>, arguments: &[String]) -> Result<(), Stop> {
    set(session, &arguments[0], Visibility::Hide)
}

/// Shows the entry points of load objects.
pub(crate) fn object_api(session: &mut Session<'_>, arguments: &[String]) -> Result<(), Stop> {
    set(session, &arguments[0], Visibility::Api)
}

/// Shows everything.
pub(crate) fn objects_default(session: &mut Session<'_>, _: &[String]) -> Result<(), Stop> {
    session.set_objects(|objects| *objects = Default::default());
    Ok(())
}

fn set(session: &mut Session<'_>, list: &str, visibility: Visibility) -> Result<(), Stop> {
    check(session, list)?;
    session.set_objects(|objects| objects.set(list, visibility));
    Ok(())
}

/// Checks that the experiment has these load objects.
fn check(session: &Session<'_>, list: &str) -> Result<(), Stop> {
    let wanted = names(list);
    if wanted.is_empty() {
        return Err(Stop::usage(
            "the list of load objects is empty: object_list shows their names",
        ));
    }
    let experiment = session.all()?;
    let all = experiment.names(Default::default());
    let modules = (0..all.tables.modules.len() as u32).map(experiment::ids::ModuleId);
    let known: Vec<&str> = modules
        .map(|module| bare(all.object_name(module)))
        .collect();
    for name in wanted {
        if !name.eq_ignore_ascii_case("all") && !known.contains(&name.as_str()) {
            let hint = match nearest(&name, known) {
                Some(near) => format!("did you mean \"{near}\"?"),
                None => "object_list shows their names".to_owned(),
            };
            return Err(Stop::Usage(format!(
                "there is no load object \"{name}\": {hint}"
            )));
        }
    }
    Ok(())
}
