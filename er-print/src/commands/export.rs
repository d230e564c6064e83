//! `export`: the profile, or what `collect -r` found, in a format of other tools.

use export::{FORMATS, Writer};

use super::choose;
use crate::output::{write_folder, write_whole};
use crate::session::Session;
use crate::stop::Stop;

/// Writes the profile to a file, a folder, or standard output.
pub(crate) fn export(session: &mut Session<'_>, arguments: &[String]) -> Result<(), Stop> {
    let [word, file] = arguments else {
        return Err(Stop::usage(
            "export needs two arguments: write export FORMAT FILE",
        ));
    };
    let choices: Vec<_> = FORMATS.iter().map(|format| (format.name, format)).collect();
    let format = choose("export", word, &choices)?;
    if file == "-" && matches!(format.write, Writer::Folder { .. }) {
        return Err(Stop::usage(format!(
            "export {} writes a folder: name a directory instead of -",
            format.name
        )));
    }
    // What was printed before comes first.
    session.flush()?;
    let query = session.query()?;
    format.refuse_empty(&query)?;
    match format.write {
        Writer::File(write) => write_whole(file, |out| write(&query, out)),
        Writer::Folder { write, files } => {
            write_folder(file, files, |folder| write(&query, folder))
        }
    }
}
