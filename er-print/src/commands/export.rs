//! `export`: the profile in a format of other tools.

use std::fs::{self, File, OpenOptions, Permissions};
use std::io::{self, BufWriter, Write};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use export::FORMATS;

use super::choose;
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
    if file == "-" {
        let mut out = BufWriter::new(io::stdout().lock());
        (format.write)(&query, &mut out)?;
        return Ok(out.flush()?);
    }
    let written = write(Path::new(file), |out| (format.write)(&query, out));
    written.map_err(|error| {
        Stop::Data(format!(
            "cannot write {file}: {error}; name a file elsewhere"
        ))
    })
}

/// Writes a file beside its place and puts it there when it is whole. What is no regular file, such as a
/// pipe, is written in place.
fn write(path: &Path, fill: impl FnOnce(&mut dyn Write) -> io::Result<()>) -> io::Result<()> {
    if fs::metadata(path).is_ok_and(|known| !known.is_file()) {
        return fill_file(OpenOptions::new().write(true).open(path)?, fill).map(drop);
    }
    // A symbolic link stays one.
    let place = fs::canonicalize(path).unwrap_or_else(|_| path.to_owned());
    let folder = place.parent().filter(|it| !it.as_os_str().is_empty());
    let folder = folder.map_or_else(|| PathBuf::from("."), Path::to_owned);
    let fresh = tempfile::Builder::new()
        .permissions(Permissions::from_mode(0o666))
        .tempfile_in(folder)?;
    let (file, fresh) = fresh.into_parts();
    fill_file(file, fill)?;
    Ok(fresh.persist(place)?)
}

fn fill_file(file: File, fill: impl FnOnce(&mut dyn Write) -> io::Result<()>) -> io::Result<File> {
    let mut out = BufWriter::with_capacity(1 << 16, file);
    fill(&mut out)?;
    Ok(out.into_inner()?)
}
