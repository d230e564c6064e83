//! `report`: a page for a browser.

use report::page::{Choice, page};

use crate::output::write_whole;
use crate::session::Session;
use crate::stop::Stop;

/// Writes a page of every view.
pub(crate) fn report(session: &mut Session<'_>, arguments: &[String]) -> Result<(), Stop> {
    // What was printed before comes first.
    session.flush()?;
    let page = page(&session.query()?, session.settings.page);
    write_whole(&arguments[0], |out| out.write_all(page.as_bytes()))
}

/// Leaves source text out of later pages.
pub(crate) fn no_source(session: &mut Session<'_>, _: &[String]) -> Result<(), Stop> {
    session.settings.page = Choice {
        has_sources: false,
        ..session.settings.page
    };
    Ok(())
}

/// Shortens paths in later pages.
pub(crate) fn redact(session: &mut Session<'_>, _: &[String]) -> Result<(), Stop> {
    session.settings.page = Choice {
        redacts: true,
        ..session.settings.page
    };
    Ok(())
}
