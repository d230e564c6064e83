//! `report`: a page for a browser.

use std::fs;
use std::path::Path;

use report::page::{Choice, page};

use crate::session::Session;
use crate::stop::Stop;

/// Writes a page of every view.
pub(crate) fn report(session: &mut Session<'_>, arguments: &[String]) -> Result<(), Stop> {
    let page = page(&session.query()?, session.settings.page);
    match arguments[0].as_str() {
        "-" => session.print(&page),
        name => write(Path::new(name), &page),
    }
}

/// Writes a file whole or not at all.
fn write(path: &Path, text: &str) -> Result<(), Stop> {
    let mut fresh = path.as_os_str().to_owned();
    fresh.push(".part");
    let written = fs::write(&fresh, text).and_then(|()| fs::rename(&fresh, path));
    written.map_err(|error| {
        let _ = fs::remove_file(&fresh);
        Stop::Data(format!(
            "cannot write {}: {error}; name a file elsewhere",
            path.display()
        ))
    })
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
