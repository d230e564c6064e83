//! Defaults for files such as `.parallax.rc`.

use super::choose;
use crate::session::Session;
use crate::stop::Stop;

/// Sets the initial metrics: those of them that an experiment has.
pub(crate) fn dmetrics(session: &mut Session<'_>, arguments: &[String]) -> Result<(), Stop> {
    session.settings.default_metrics = Some(arguments[0].clone());
    Ok(())
}

/// Sets the initial order. It has no effect on experiments that lack its metric.
pub(crate) fn dsort(session: &mut Session<'_>, arguments: &[String]) -> Result<(), Stop> {
    session.settings.default_sort = Some(arguments[0].clone());
    Ok(())
}

/// Accepts only `on`: descendants are in their ancestor's experiment and are always read.
pub(crate) fn en_desc(_: &mut Session<'_>, arguments: &[String]) -> Result<(), Stop> {
    if arguments[0].starts_with('=')
        || !choose("en_desc", &arguments[0], &[("on", true), ("off", false)])?
    {
        return Err(Stop::usage(
            "descendants are in the same experiment: show one process by filters PID==N",
        ));
    }
    Ok(())
}

/// Refuses commands of the analyzer.
pub(crate) fn analyzers(_: &mut Session<'_>, _: &[String]) -> Result<(), Stop> {
    Err(Stop::usage(
        "this is the analyzer's: put it in .parallax.rc, which er_print passes over",
    ))
}
