//! Names and creates the experiment's directory, and replaces an existing one.

use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};

use experiment::header::{Header, Rank};
use experiment::job::JOB;
use experiment::{self, ExperimentError, HEADER, Live, RECORDS, Writer};
use symbolize::search::ARCHIVE;

use crate::cli::Destination;
use crate::job::{self, Joined};
use crate::rank;
use crate::say::say;

/// The directory for the experiment, as far as it is known before [`make`] makes it.
///
/// # Errors
/// One sentence if no experiment can be created there.
pub fn choose(target: &Destination) -> Result<PathBuf, String> {
    let folder = target.folder();
    if !folder.as_os_str().is_empty() && !folder.is_dir() {
        return Err(format!(
            "{} is not a directory: make it first",
            folder.display()
        ));
    }
    let own_name = || {
        let next = || folder.join(rank::next_free(&folder, target.alone()));
        target.path().unwrap_or_else(next)
    };
    let Some(rank) = target.rank_in_job() else {
        let directory = own_name();
        usable(&directory, target.replace)?;
        not_live(&directory)?;
        return Ok(directory);
    };
    let in_known = || {
        let known = job::known(target, rank)?;
        let directory = experiment::job::rank(&known, rank.number);
        let checked = usable(&directory, target.replace).and_then(|()| not_live(&directory));
        Some(checked.map(|()| directory))
    };
    if let Some(directory) = in_known() {
        return directory;
    }
    // Only the rank that replaces it looks whether it is being recorded: two looks at once take each other for a recording.
    let folder = own_name();
    match usable(&folder, target.replace) {
        Ok(()) => Ok(experiment::job::rank(&folder, rank.number)),
        // Another rank has replaced it meanwhile: it is this job's now.
        Err(why) => in_known().unwrap_or(Err(why)),
    }
}

/// Checks that an experiment of this name can be made.
///
/// # Errors
/// One sentence if none can be.
pub(crate) fn usable(directory: &Path, replace: bool) -> Result<(), String> {
    match fs::symlink_metadata(directory) {
        Err(_) => Ok(()),
        Ok(_) if !replace => Err(format!(
            "{} exists already: choose another name, or replace it with -O",
            directory.display()
        )),
        Ok(_) if is_experiment(directory) || is_job(directory) => Ok(()),
        // Another collect has moved it aside, or removed it.
        Ok(_) if fs::symlink_metadata(directory).is_err() => Ok(()),
        Ok(_) => Err(format!(
            "{} is not an experiment of Parallax, so -O does not replace it: choose another name",
            directory.display()
        )),
    }
}

/// Checks that no experiment there, or of a job there, is being recorded.
///
/// # Errors
/// One sentence if one is.
pub(crate) fn not_live(directory: &Path) -> Result<(), String> {
    let is_live = |it: &PathBuf| experiment::is_live(it);
    if experiment::job::experiments(directory).iter().any(is_live) {
        return Err(live(directory));
    }
    Ok(())
}

impl Destination {
    /// The folder in which the experiment is made.
    pub(crate) fn folder(&self) -> PathBuf {
        self.directory.clone().unwrap_or_default()
    }

    /// The path that the user gave it, of a rank with its number, unless it is in its job's folder.
    pub(crate) fn path(&self) -> Option<PathBuf> {
        let name = self.name.as_ref()?;
        let of_rank = self.alone().map(|rank| rank::name(name, rank));
        Some(self.folder().join(of_rank.as_ref().unwrap_or(name)))
    }

    /// The rank, if its experiment is in its job's folder.
    pub(crate) fn rank_in_job(&self) -> Option<&Rank> {
        self.rank.as_ref().filter(|_| self.is_in_job)
    }

    /// The rank, if its experiment has a name of its own.
    fn alone(&self) -> Option<&Rank> {
        self.rank.as_ref().filter(|_| !self.is_in_job)
    }
}

/// A new experiment whose program has not started yet. If it is dropped before [`Made::keep`], it
/// is removed, and the experiment that it replaced is restored.
pub struct Made {
    directory: PathBuf,
    replaced: Option<PathBuf>,
    /// Its job's folder, if it is in one.
    job: Option<Joined>,
    kept: bool,
}

/// Creates the experiment with its first header. Moves an experiment that it replaces aside.
///
/// # Errors
/// One sentence.
pub fn make(target: &Destination, header: &Header) -> Result<(Writer, Made), String> {
    loop {
        let job = target.rank_in_job();
        let job = job.map(|rank| job::join(target, rank)).transpose()?;
        let directory = choose(target).inspect_err(|_| job.iter().for_each(Joined::leave))?;
        let mut made = Made {
            directory,
            replaced: None,
            job,
            kept: false,
        };
        if target.replace {
            made.replaced = put_aside(&made.directory)?;
        }
        match Writer::create(&made.directory, header) {
            Ok(writer) => return Ok((writer, made)),
            // Another collect took the name first. The next name is free, or that experiment is
            // live and replaces the one put aside.
            Err(ExperimentError::Exists(_)) if target.name.is_none() || target.replace => {
                let replaced = made.replaced.take();
                made.kept = true;
                replaced.as_deref().map_or(Ok(()), remove).ok();
            }
            Err(error) => return Err(error.to_string()),
        }
    }
}

impl Made {
    /// Keeps the experiment, and removes the replaced one. Called once the program runs.
    pub fn keep(mut self) {
        self.kept = true;
        let of_job = self.job.as_ref().and_then(|job| job.replaced.as_deref());
        for old in [self.replaced.as_deref(), of_job].into_iter().flatten() {
            if let Err(error) = remove(old) {
                say(format!("cannot remove {}: {error}", old.display()));
            }
        }
    }
}

impl Drop for Made {
    fn drop(&mut self) {
        if !self.kept {
            // A directory that cannot be removed is an empty experiment, which does no harm.
            let _ = remove(&self.directory);
            restore(&self.directory, self.replaced.as_deref());
            self.job.iter().for_each(Joined::leave);
        }
    }
}

/// Renames an experiment; `None` if there is none, or none yet. It is locked meanwhile, of a job each rank's, so it is
/// neither being recorded nor being replaced by another collect.
pub(crate) fn put_aside(directory: &Path) -> Result<Option<PathBuf>, String> {
    // Without records another collect is making or removing it.
    let has = |file| fs::symlink_metadata(directory.join(file)).is_ok();
    if !has(RECORDS) && !has(JOB) {
        return Ok(None);
    }
    let all = experiment::job::experiments(directory);
    let locked = all.iter().filter_map(|it| experiment::lock(it));
    let locked: Result<Vec<_>, Live> = locked.collect();
    let locked = locked.map_err(|Live| live(directory))?;
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

pub(crate) fn restore(directory: &Path, replaced: Option<&Path>) {
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

/// Whether a directory holds ranks' experiments, the file that tells which job they are of, and nothing else.
fn is_job(directory: &Path) -> bool {
    let Ok(entries) = fs::read_dir(directory) else {
        return false;
    };
    let real = fs::symlink_metadata(directory).is_ok_and(|metadata| metadata.is_dir());
    let ranks = experiment::job::ranks(directory).unwrap_or_default();
    let mut paths = entries.flatten().map(|entry| entry.path());
    let is_ours =
        |path: PathBuf| path.ends_with(JOB) || (ranks.contains(&path) && is_experiment(&path));
    real && directory.join(JOB).is_file() && paths.all(is_ours)
}

/// File names in an experiment. Only a killed collect leaves the third behind; experiments up to format 13 have
/// the last.
const FILES: [&str; 4] = [RECORDS, HEADER, "header.json.new", "findings.json"];

/// Removes an experiment, or a job with its ranks'.
fn remove(directory: &Path) -> std::io::Result<()> {
    for rank in experiment::job::ranks(directory)? {
        remove(&rank)?;
    }
    match fs::remove_dir_all(directory.join(ARCHIVE)) {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => return Err(error),
        _ => {}
    }
    for file in FILES.iter().chain([&JOB]) {
        match fs::remove_file(directory.join(file)) {
            Err(error) if error.kind() != std::io::ErrorKind::NotFound => return Err(error),
            _ => {}
        }
    }
    fs::remove_dir(directory)
}
