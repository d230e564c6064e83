//! `export`: the profile in a format of other tools.

use export::FORMATS;

use super::choose;
use crate::output::write_whole;
use crate::session::Session;
use crate::stop::Stop;

/// Writes the profile to a file, or to standard output.
pub(crate) fn export(session: &mut Session<'_>, arguments: &[String]) -> Result<(), Stop> {
    let [word, file] = arguments else {
        return Err(Stop::usage(
            "export needs two arguments: write export FORMAT FILE",
        ));
    };
    let choices: Vec<_> = FORMATS.iter().map(|format| (format.name, format)).collect();
    let format = choose("export", word, &choices)?;
    // What was printed before comes first.
    session.flush()?;
    let query = session.query()?;
    write_whole(file, |out| (format.write)(&query, out))
}
