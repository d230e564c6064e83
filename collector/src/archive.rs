//! Copies of load objects and sources in the experiment, so that it can be read on another machine.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use experiment::symbols::SymbolTable;
use experiment::tables::Tables;
use symbolize::LONGEST_SOURCE;
use symbolize::search::ARCHIVE;

use crate::control_options::Archive;

/// Copies what the experiment names. Returns what went wrong, as a sentence.
pub fn copy(
    experiment: &Path,
    what: Archive,
    tables: &Tables,
    symbols: &SymbolTable,
) -> Option<String> {
    let objects = tables.modules.rows().iter().map(|module| &module.path);
    let objects = objects
        .filter(|_| what.objects)
        .map(|path| (path, u64::MAX));
    let sources = symbols.files.iter().filter(|_| what.sources);
    let sources = sources.map(|path| (path, LONGEST_SOURCE));
    let mut failed: Option<String> = None;
    for (path, longest) in objects.chain(sources) {
        let from = Path::new(path);
        // A relative path of a source names no file; others are of the kernel.
        if !from.is_absolute() {
            continue;
        }
        if let Err(error) = copy_file(from, &experiment.join(ARCHIVE), longest) {
            failed.get_or_insert_with(|| {
                format!("cannot archive {path}: {error}; the archive lacks it and perhaps others")
            });
        }
    }
    failed
}

/// Copies a file, if there is one of at most this length, to its path below the archive.
fn copy_file(from: &Path, archive: &Path, longest: u64) -> io::Result<()> {
    let is_copied = fs::metadata(from).is_ok_and(|file| file.is_file() && file.len() <= longest);
    let below: PathBuf = from.components().skip(1).collect();
    let is_plain = below
        .components()
        .all(|part| matches!(part, std::path::Component::Normal(_)));
    let to = archive.join(&below);
    if !is_copied || !is_plain || to.exists() {
        return Ok(());
    }
    if let Some(folder) = to.parent() {
        fs::create_dir_all(folder)?;
    }
    fs::copy(from, &to).map(|_| ())
}
