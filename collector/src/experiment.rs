//! Names and creates the experiment's directory, and replaces an existing one.

use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};

use experiment::header::Header;
use experiment::{self, ExperimentError, HEADER, Live, RECORDS, Writer};
use symbolize::search::ARCHIVE;

use crate::cli::Destination;
use crate::rank;
use crate::say::say;

/// Returns the directory for the experiment.
///
/// # Errors
/// One sentence if no experiment can be created there.
pub fn choose(target: &Destination) -> Result<PathBuf, String> {
    let folder = target.directory.clone().unwrap_or_default();
    if !folder.as_os_str().is_empty() && !folder.is_dir() {
        return Err(format!(
            "{} is not a directory: make it first",
            folder.display()
        ));
    }
    let rank = target.rank.as_ref();
    let Some(name) = &target.name else {
        return Ok(folder.join(rank::next_free(&folder, rank)));
    };
    let directory = folder.join(match rank {
        Some(rank) => rank::name(name, rank),
        None => name.clone(),
    });
    match fs::symlink_metadata(&directory) {
        Err(_) => Ok(directory),
        Ok(_) if !target.replace => Err(format!(
            "{} exists already: choose another name, or replace it with -O",
            directory.display()
        )),
        Ok(_) if is_experiment(&directory) => {
            if experiment::is_live(&directory) {
                Err(live(&directory))
            } else {
                Ok(directory)
            }
        }
        // Another collect has moved it aside, or removed it.
        Ok(_) if fs::symlink_metadata(&directory).is_err() => Ok(directory),
        Ok(_) => Err(format!(
            "{} is not an experiment of Parallax, so -O does not replace it: choose another name",
            directory.display()
        )),
    }
}

/// A new experiment whose program has not started yet. If it is dropped before [`Made::keep`], it
/// is removed, and the experiment that it replaced is restored.
pub struct Made {
    directory: PathBuf,
    replaced: Option<PathBuf>,
    kept: bool,
}

/// Creates the experiment with its first header. Moves an experiment that it replaces aside.
///
/// # Errors
/// One sentence.
pub fn make(target: &Destination, header: &Header) -> Result<(Writer, Made), String> {
    loop {
        let directory = choose(target)?;
        let replaced = if target.replace {
            put_aside(&directory)?
        } else {
            None
        };
        match Writer::create(&directory, header) {
            Ok(writer) => {
                let made = Made {
                    directory,
                    replaced,
                    kept: false,
                };
                return Ok((writer, made));
            }
            // Another collect took the name first. The next name is free, or that experiment is
            // live and replaces the one put aside.
            Err(ExperimentError::Exists(_)) if target.name.is_none() || target.replace => {
                replaced.as_deref().map_or(Ok(()), remove).ok();
            }
            Err(error) => {
                restore(&directory, replaced.as_deref());
                return Err(error.to_string());
            }
        }
    }
}

impl Made {
    /// Keeps the experiment, and removes the replaced one. Called once the program runs.
    pub fn keep(mut self) {
        self.kept = true;
        if let Some(old) = &self.replaced
            && let Err(error) = remove(old)
        {
            say(format!("cannot remove {}: {error}", old.display()));
        }
    }
}

impl Drop for Made {
    fn drop(&mut self) {
        if !self.kept {
            // A directory that cannot be removed is an empty experiment, which does no harm.
            let _ = remove(&self.directory);
            restore(&self.directory, self.replaced.as_deref());
        }
    }
}

/// Renames an experiment; `None` if there is none, or none yet. The experiment is locked meanwhile, so it is
/// neither being recorded nor being replaced by another collect.
fn put_aside(directory: &Path) -> Result<Option<PathBuf>, String> {
    // Without records another collect is making or removing it.
    if fs::symlink_metadata(directory.join(RECORDS)).is_err() {
        return Ok(None);
    }
    let locked = match experiment::lock(directory) {
        Some(Err(Live)) => return Err(live(directory)),
        Some(Ok(lock)) => Some(lock),
        None => None,
    };
    let mut name = directory.as_os_str().to_owned();
    name.push(format!(".replaced.{}", std::process::id()));
    let aside = PathBuf::from(name);
    fs::rename(directory, &aside)
        .map_err(|error| format!("cannot replace {}: {error}", directory.display()))?;
    drop(locked);
    Ok(Some(aside))
}

fn live(directory: &Path) -> String {
    format!(
        "{} is being recorded at this moment: wait for its end, or choose another name",
        directory.display()
    )
}

fn restore(directory: &Path, replaced: Option<&Path>) {
    if let Some(old) = replaced
        && let Err(error) = fs::rename(old, directory)
    {
        say(format!(
            "the replaced experiment is now {}: {error}",
            old.display()
        ));
    }
}

/// Whether a directory holds an experiment's files, its archive, and nothing else. Files that a user put there
/// are therefore never removed.
fn is_experiment(directory: &Path) -> bool {
    let Ok(entries) = fs::read_dir(directory) else {
        return false;
    };
    let real = fs::symlink_metadata(directory).is_ok_and(|metadata| metadata.is_dir());
    let names: Vec<_> = entries.flatten().map(|entry| entry.file_name()).collect();
    let archive = fs::symlink_metadata(directory.join(ARCHIVE));
    let has_archive = archive.is_ok_and(|metadata| metadata.is_dir());
    let is_ours =
        |name: &OsString| FILES.iter().any(|file| name == file) || (has_archive && name == ARCHIVE);
    real && names.iter().any(|name| name == RECORDS) && names.iter().all(is_ours)
}

/// File names in an experiment. Only a killed collect leaves the third behind; experiments up to format 13 have
/// the last.
const FILES: [&str; 4] = [RECORDS, HEADER, "header.json.new", "findings.json"];

fn remove(directory: &Path) -> std::io::Result<()> {
    match fs::remove_dir_all(directory.join(ARCHIVE)) {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => return Err(error),
        _ => {}
    }
    for file in FILES {
        match fs::remove_file(directory.join(file)) {
            Err(error) if error.kind() != std::io::ErrorKind::NotFound => return Err(error),
            _ => {}
        }
    }
    fs::remove_dir(directory)
}
