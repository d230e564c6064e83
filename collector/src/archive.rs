//! Copies of load objects and sources in the experiment, so that it can be read on another machine.

use std::io::{self, Read};
use std::path::{Path, PathBuf};

use experiment::folder::Folder;
use experiment::symbols::SymbolTable;
use experiment::tables::Tables;
use symbolize::search::ARCHIVE;
use symbolize::{Files, LONGEST_SOURCE};

use crate::after::After;
use crate::control_options::Archive;

/// Copies what the experiment names, from where `files` have it. Returns what went wrong, as a sentence.
pub fn copy(
    experiment: &Folder,
    what: Archive,
    (tables, symbols): (&Tables, &SymbolTable),
    files: &Files,
    after: &mut After<'_>,
) -> Option<String> {
    let objects = tables.modules.rows().iter().filter(|_| what.objects);
    let objects = objects.map(|module| {
        let path = Path::new(&module.path);
        (path, files.place_of(module), u64::MAX)
    });
    let sources = symbols.files.iter().filter(|_| what.sources);
    let sources = sources.map(|path| (Path::new(path), Path::new(path), LONGEST_SOURCE));
    let mut failed: Option<String> = None;
    for (path, from, longest) in objects.chain(sources) {
        // A relative path of a source names no file; others are of the kernel.
        if !path.is_absolute() {
            continue;
        }
        let name = path.display();
        let goes_on = &mut || after.goes_on(|| format!("copying {name}"));
        if !goes_on() {
            return Some(format!("a signal ended the copying at {name}: {REST}"));
        }
        if let Err(error) = copy_file((path, from), experiment, longest, goes_on) {
            failed.get_or_insert_with(|| format!("cannot archive {name}: {error}; {REST}"));
        }
    }
    failed
}

/// What follows from a file that was not copied.
const REST: &str = "the archive lacks it and perhaps others";

/// Copies the file that was at `path` and is at `from`, if there is one of at most this length, to its path below the
/// experiment's archive. The copy has none of its permissions: a program that sets its user id would do so there, too.
fn copy_file(
    (path, from): (&Path, &Path),
    experiment: &Folder,
    longest: u64,
    goes_on: &mut dyn FnMut() -> bool,
) -> io::Result<()> {
    let below: PathBuf = path.components().skip(1).collect();
    let is_plain = below
        .components()
        .all(|part| matches!(part, std::path::Component::Normal(_)));
    let Some(name) = below.file_name().filter(|_| is_plain && from.is_file()) else {
        return Ok(());
    };
    let file = match untrusted::open(from) {
        Err(error) if error.kind() == io::ErrorKind::InvalidInput => return Ok(()),
        opened => opened?,
    };
    if file.metadata()?.len() > longest {
        return Ok(());
    }
    let mut folder = experiment.within(Path::new(ARCHIVE))?;
    for part in below.parent().into_iter().flat_map(Path::components) {
        folder = folder.within(part.as_ref())?;
    }
    let mut copy = match folder.create(name.as_ref()) {
        // Two load objects may have one file.
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => return Ok(()),
        made => made?,
    };
    let mut file = file.take(longest);
    // A part would be taken for the file.
    let remove = |error| folder.remove(name.as_ref()).and(Err(error));
    while goes_on() {
        match io::copy(&mut file.by_ref().take(PIECE), &mut copy) {
            Ok(0) => return Ok(()),
            Ok(_) => {}
            Err(error) => return remove(error),
        }
    }
    remove(io::Error::other("a signal ended the copying"))
}

/// Bytes that are copied between two looks for signals.
const PIECE: u64 = 8 << 20;

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::PermissionsExt;

    use super::*;

    #[test]
    fn a_copy_that_a_signal_ends_is_not_there() {
        let folder = tempfile::tempdir().expect("a folder");
        let experiment = Folder::open(folder.path()).expect("it is there");
        let (archive, program) = (folder.path().join(ARCHIVE), folder.path().join("program"));
        fs::write(&program, vec![1; 3 * PIECE as usize]).expect("writable");
        for steps in 0..3 {
            let mut left = steps;
            let mut goes_on = || {
                left -= 1;
                left >= 0
            };
            assert!(copy_file((&program, &program), &experiment, u64::MAX, &mut goes_on).is_err());
            let copy = archive.join(program.strip_prefix("/").expect("an absolute path"));
            assert!(!copy.exists(), "after {steps} steps");
        }
        assert!(copy_file((&program, &program), &experiment, u64::MAX, &mut || true).is_ok());
    }

    #[test]
    fn a_copy_is_of_a_stored_file_and_has_none_of_its_permissions() {
        let folder = tempfile::tempdir().expect("a folder");
        let experiment = Folder::open(folder.path()).expect("it is there");
        let archive = folder.path().join(ARCHIVE);
        let copied = |from: &Path, longest| {
            copy_file((from, from), &experiment, longest, &mut || true)
                .expect("it is copied or left out");
            let below = from.strip_prefix("/").expect("an absolute path");
            fs::metadata(archive.join(below)).ok()
        };
        let program = folder.path().join("program");
        fs::write(&program, "1234").expect("writable");
        fs::set_permissions(&program, fs::Permissions::from_mode(0o6755)).expect("my own");
        assert!(copied(&program, 3).is_none());
        let copy = copied(&program, 4).expect("a copy");
        assert_eq!((copy.len(), copy.permissions().mode() & 0o6111), (4, 0));
        for unstored in ["/dev/zero", "/proc/self/status", "/nonexistent"] {
            assert!(
                copied(Path::new(unstored), u64::MAX).is_none(),
                "{unstored}"
            );
        }
    }
}
