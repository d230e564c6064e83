//! Settings of annotated source and instructions: thresholds, search path, comments.

use report::settings::Comments;

use super::choose;
use crate::session::Session;
use crate::stop::Stop;

/// Sets the share of time from which lines are hot.
pub(crate) fn sthresh(session: &mut Session<'_>, arguments: &[String]) -> Result<(), Stop> {
    session.settings.annotation.source_hot = percent("sthresh", &arguments[0])?;
    Ok(())
}

/// Sets the share of time from which instructions are hot.
pub(crate) fn dthresh(session: &mut Session<'_>, arguments: &[String]) -> Result<(), Stop> {
    session.settings.annotation.instruction_hot = percent("dthresh", &arguments[0])?;
    Ok(())
}

fn percent(command: &str, word: &str) -> Result<f64, Stop> {
    let number = word.trim_end_matches('%').parse::<f64>();
    match number {
        Ok(number) if (0.0..=100.0).contains(&number) => Ok(number),
        _ => Err(Stop::Usage(format!(
            "{command} takes a percentage from 0 to 100, not \"{word}\""
        ))),
    }
}

/// Sets the search path.
pub(crate) fn setpath(session: &mut Session<'_>, arguments: &[String]) -> Result<(), Stop> {
    session.settings.annotation.search.set(&arguments[0]);
    Ok(())
}

/// Adds to the search path.
pub(crate) fn addpath(session: &mut Session<'_>, arguments: &[String]) -> Result<(), Stop> {
    session.settings.annotation.search.add(&arguments[0]);
    Ok(())
}

/// Replaces the beginning of recorded paths.
pub(crate) fn pathmap(session: &mut Session<'_>, arguments: &[String]) -> Result<(), Stop> {
    if arguments[0].is_empty() {
        return Err(Stop::usage(
            "pathmap takes the beginning of a path and what replaces it: the beginning is empty",
        ));
    }
    let search = &mut session.settings.annotation.search;
    search.map(&arguments[0], &arguments[1]);
    Ok(())
}

/// Chooses comments in sources.
pub(crate) fn scc(session: &mut Session<'_>, arguments: &[String]) -> Result<(), Stop> {
    session.settings.annotation.source_comments = comments("scc", &arguments[0])?;
    Ok(())
}

/// Chooses comments in instructions.
pub(crate) fn dcc(session: &mut Session<'_>, arguments: &[String]) -> Result<(), Stop> {
    session.settings.annotation.instruction_comments = comments("dcc", &arguments[0])?;
    Ok(())
}

/// Chooses comments in both.
pub(crate) fn cc(session: &mut Session<'_>, arguments: &[String]) -> Result<(), Stop> {
    let comments = comments("cc", &arguments[0])?;
    session.settings.annotation.source_comments = comments;
    session.settings.annotation.instruction_comments = comments;
    Ok(())
}

/// Parses a list of classes of comments. Of Sun's classes, only these have comments here.
fn comments(command: &str, list: &str) -> Result<Comments, Stop> {
    #[derive(Clone, Copy)]
    enum Class {
        All,
        None,
        Waits,
        Inlined,
        Source,
    }
    let classes = [
        ("all", Class::All),
        ("basic", Class::All),
        ("none", Class::None),
        ("parallel", Class::Waits),
        ("inline", Class::Inlined),
        ("src", Class::Source),
    ];
    let mut comments = Comments::NONE;
    for word in list.split(':') {
        match choose(command, word, &classes)? {
            Class::All => comments = Comments::ALL,
            Class::None => comments = Comments::NONE,
            Class::Waits => comments.waits = true,
            Class::Inlined => comments.inlined = true,
            Class::Source => comments.source = true,
        }
    }
    Ok(comments)
}
