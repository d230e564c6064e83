//! Where sources are looked for, and how they are annotated.

use report::settings::Comments;

use super::choose;
use crate::failure::Stop;
use crate::session::Session;

/// Lines from this share on are hot.
pub(crate) fn sthresh(session: &mut Session<'_>, arguments: &[String]) -> Result<(), Stop> {
    session.settings.annotation.source_hot = percent("sthresh", &arguments[0])?;
    Ok(())
}

/// Instructions from this share on are hot.
pub(crate) fn dthresh(session: &mut Session<'_>, arguments: &[String]) -> Result<(), Stop> {
    session.settings.annotation.instruction_hot = percent("dthresh", &arguments[0])?;
    Ok(())
}

fn percent(command: &str, word: &str) -> Result<f64, Stop> {
    let number = word.trim_end_matches('%').parse::<f64>();
    match number {
        Ok(number) if (0.0..=100.0).contains(&number) => Ok(number),
        _ => Err(Stop::Words(format!(
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
        return Err(Stop::words(
            "pathmap takes the beginning of a path and what replaces it: the beginning is empty",
        ));
    }
    let search = &mut session.settings.annotation.search;
    search.map(&arguments[0], &arguments[1]);
    Ok(())
}

/// Comments of sources.
pub(crate) fn scc(session: &mut Session<'_>, arguments: &[String]) -> Result<(), Stop> {
    session.settings.annotation.source_comments = comments("scc", &arguments[0])?;
    Ok(())
}

/// Comments of instructions.
pub(crate) fn dcc(session: &mut Session<'_>, arguments: &[String]) -> Result<(), Stop> {
    session.settings.annotation.instruction_comments = comments("dcc", &arguments[0])?;
    Ok(())
}

/// Comments of both.
pub(crate) fn cc(session: &mut Session<'_>, arguments: &[String]) -> Result<(), Stop> {
    let comments = comments("cc", &arguments[0])?;
    session.settings.annotation.source_comments = comments;
    session.settings.annotation.instruction_comments = comments;
    Ok(())
}

/// The classes of comments; Sun's own compilers wrote more of them than any other does.
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
