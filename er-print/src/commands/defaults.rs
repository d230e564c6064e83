//! Commands of rc files: what reports begin with.

use super::choose;
use crate::failure::Stop;
use crate::session::Session;

/// Metrics to start with; those that a recording has not are told when it is opened without them.
pub(crate) fn dmetrics(session: &mut Session<'_>, arguments: &[String]) -> Result<(), Stop> {
    session.settings.default_metrics = Some(arguments[0].clone());
    Ok(())
}

/// The order to start with.
pub(crate) fn dsort(session: &mut Session<'_>, arguments: &[String]) -> Result<(), Stop> {
    session.settings.default_sort = Some(arguments[0].clone());
    Ok(())
}

/// Descendants are in their ancestor's experiment, so they are always read.
pub(crate) fn en_desc(_: &mut Session<'_>, arguments: &[String]) -> Result<(), Stop> {
    if arguments[0].starts_with('=')
        || !choose("en_desc", &arguments[0], &[("on", true), ("off", false)])?
    {
        return Err(Stop::words(
            "descendants are in the same experiment: show one process by filters PID==N",
        ));
    }
    Ok(())
}

/// The analyzer's tabs and timeline: not er_print's to choose.
pub(crate) fn analyzers(_: &mut Session<'_>, _: &[String]) -> Result<(), Stop> {
    Err(Stop::words(
        "this is the analyzer's: put it in .parallax.rc, which er_print passes over",
    ))
}
