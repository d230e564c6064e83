//! Source files as they are found on this machine.

use std::path::{Path, PathBuf};
use std::time::UNIX_EPOCH;

use experiment::symbols::FileId;
use symbolize::LONGEST_SOURCE;
use symbolize::search::ARCHIVE;

use crate::query::Source;

/// A source file as it is on this machine.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SourceFile {
    /// Its path as recorded.
    pub recorded: String,
    /// Where it was found.
    pub path: Option<PathBuf>,
    /// Its lines, without tabs; none if it was not found.
    pub lines: Vec<String>,
    /// Why it was not read, or may have changed.
    pub warning: Option<String>,
}

impl SourceFile {
    /// Reads a file of an experiment, wherever the settings find it.
    pub fn read(source: &Source<'_>, file: FileId) -> SourceFile {
        let recorded = source.analysis.symbols.files.get(file.0 as usize);
        let recorded = recorded.cloned().unwrap_or_default();
        let search = &source.settings.annotation.search;
        let path = search.find(&recorded, &source.analysis.names);
        let (text, warning) = match &path {
            None => (
                String::new(),
                Some(format!(
                    "the source {recorded} is not here: setpath, addpath or pathmap tell where it \
                     is"
                )),
            ),
            Some(path) => match untrusted::read(path, LONGEST_SOURCE) {
                Ok(bytes) => (
                    String::from_utf8_lossy(&bytes).into_owned(),
                    changed(source, path),
                ),
                Err(error) => (
                    String::new(),
                    Some(format!("cannot read {}: {error}", path.display())),
                ),
            },
        };
        let lines = text
            .lines()
            .map(|line| untrusted::printable(&line.replace('\t', "        ")).into_owned());
        SourceFile {
            recorded,
            path,
            lines: lines.collect(),
            warning,
        }
    }

    /// The text of a line, from 1; empty if there is none.
    pub fn line(&self, line: u32) -> &str {
        let at = (line as usize).checked_sub(1);
        let line = at.and_then(|at| self.lines.get(at));
        line.map_or("", String::as_str)
    }
}

/// Whether a file was written after the experiment began: its lines may be others. What the
/// experiment keeps was put there then, and is what was compiled.
fn changed(source: &Source<'_>, path: &Path) -> Option<String> {
    let experiments = source.analysis.names.iter();
    if experiments
        .map(|name| Path::new(name).join(ARCHIVE))
        .any(|archive| path.starts_with(archive))
    {
        return None;
    }
    let written = std::fs::metadata(path)
        .and_then(|data| data.modified())
        .ok()?;
    let written = written.duration_since(UNIX_EPOCH).ok()?.as_secs_f64();
    let began = source.analysis.experiment.header.started_unix;
    (began > 0.0 && written > began).then(|| {
        format!(
            "{} has changed since the recording: times may stand at other lines",
            path.display()
        )
    })
}
