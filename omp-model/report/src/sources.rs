//! Source files as they are found on this machine.

use std::fs::File;
use std::io::ErrorKind;
use std::path::PathBuf;

use experiment::symbols::FileId;
use symbolize::LONGEST_SOURCE;
use symbolize::search::{Candidate, Place};

use crate::query::Source;

/// The most lines of a source that are shown. Each is a row with a value for each metric: kilobytes for a line
/// that may be empty.
const MOST_LINES: usize = 1 << 18;

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
    ///
    /// Anybody may have made the experiment, which may name any file that the user can read. So a file is
    /// shown if its contents are those that were recorded, if the user says where it is, or if the
    /// experiment itself has it.
    pub fn read(source: &Source<'_>, file: FileId) -> SourceFile {
        let symbols = &source.analysis.symbols;
        let recorded = symbols.files.get(file.0 as usize);
        let recorded = recorded.cloned().unwrap_or_default();
        SourceFile::find(source, recorded, |digest| symbols.is_recorded(file, digest))
    }

    /// Likewise a file that a finding names.
    pub fn of_finding(source: &Source<'_>, file: &str) -> SourceFile {
        let symbols = &source.analysis.symbols;
        let at = symbols.files.iter().position(|it| it == file);
        let file_id = at.map(|at| FileId(at as u32));
        SourceFile::find(source, file.to_owned(), |digest| {
            symbols.is_recorded(file_id?, digest)
        })
    }

    fn find(
        source: &Source<'_>,
        recorded: String,
        is_recorded: impl Fn([u8; 16]) -> Option<bool>,
    ) -> SourceFile {
        let search = &source.settings.annotation.search;
        let experiments = &source.analysis.directories;
        let mut refused = None;
        for Candidate { path, place } in search.candidates(&recorded, experiments) {
            let opened = untrusted::open(&path).and_then(|file| {
                let is_inside = is_inside(&file, experiments);
                Ok((untrusted::read_open(file, LONGEST_SOURCE)?, is_inside))
            });
            let (bytes, is_inside) = match opened {
                Ok(opened) => opened,
                Err(error) => {
                    if error.kind() != ErrorKind::NotFound && path.is_file() {
                        refused.get_or_insert(format!("cannot read {}: {error}", path.display()));
                    }
                    continue;
                }
            };
            let is_recorded = is_recorded(untrusted::digest(&bytes));
            let is_shown = match place {
                Place::Experiment => is_inside,
                Place::Given => true,
                Place::Recorded => is_recorded == Some(true),
            };
            if is_shown {
                let warning = (is_recorded == Some(false)).then(|| {
                    format!(
                        "{} has changed since the recording: times may stand at other lines",
                        path.display()
                    )
                });
                return SourceFile::of(recorded, path, &bytes, warning);
            }
            let why = match is_recorded {
                Some(_) => "has changed since the recording",
                None => "could not be read when it was recorded, so it may be another file",
            };
            refused.get_or_insert_with(|| {
                format!(
                    "{} {why}: to see it all the same, name its folder by setpath, addpath or \
                     pathmap",
                    path.display()
                )
            });
        }
        let missing = || {
            format!(
                "the source {recorded} is not here: setpath, addpath or pathmap tell where it is"
            )
        };
        SourceFile {
            warning: Some(refused.unwrap_or_else(missing)),
            recorded,
            path: None,
            lines: Vec::new(),
        }
    }

    fn of(recorded: String, path: PathBuf, bytes: &[u8], warning: Option<String>) -> SourceFile {
        let text = String::from_utf8_lossy(bytes);
        let mut lines = text.lines();
        let shown = lines
            .by_ref()
            .take(MOST_LINES)
            .map(|line| untrusted::printable(&line.replace('\t', "        ")).into_owned());
        let shown = shown.collect();
        let warning = warning.or_else(|| {
            let left_out = lines.count();
            (left_out > 0).then(|| {
                let path = path.display();
                format!("{path} is too long: its last {left_out} lines are not shown")
            })
        });
        SourceFile {
            recorded,
            path: Some(path),
            lines: shown,
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

/// Whether an open file is in an experiment: its path may have been a link to another place.
fn is_inside(file: &File, experiments: &[String]) -> bool {
    let place = untrusted::place(file);
    place.is_ok_and(|place| experiments.iter().any(|it| place.starts_with(it)))
}
