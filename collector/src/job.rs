//! The folder of a job: the first of its ranks makes it, the others join.
//!
//! Collectors do not talk to each other. Every rank knows one name that is the job's alone, and tries to make a folder of that
//! name: the rank that succeeds fills it, and gives it the name that the user wants by one rename. The others see it whole
//! or not at all.

use std::collections::hash_map::DefaultHasher;
use std::fs;
use std::hash::{Hash, Hasher};
use std::io::{ErrorKind, Write};
use std::path::{Path, PathBuf};
use std::thread;
use std::time::{Duration, Instant};

use experiment::folder::Folder;
use experiment::header::Rank;
use experiment::job::{self, JOB, Job};

use crate::cli::Destination;
use crate::experiment::{not_live, put_aside, restore, usable};
use crate::rank;

/// How long a rank waits for another one that makes the folder. File systems of clusters show new names late.
const PATIENCE: Duration = Duration::from_secs(60);
/// The time between two looks.
const LOOK: Duration = Duration::from_millis(5);

/// The folder of a job.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Joined {
    /// Its path.
    pub(crate) folder: PathBuf,
    /// What stood in its place, under another name now, if this rank made the folder.
    pub(crate) replaced: Option<PathBuf>,
}

/// The folder that this rank's job has already, if this rank has no experiment in it or may replace it.
pub(crate) fn known(target: &Destination, rank: &Rank) -> Option<PathBuf> {
    let is_own = |path: &PathBuf| Job::of(path).is_some_and(|job| job.id == rank.job);
    if let Some(path) = target.path() {
        return Some(path).filter(is_own);
    }
    let is_free = |path: &PathBuf| fs::symlink_metadata(job::rank(path, rank.number)).is_err();
    let all = rank::numbered(&target.folder());
    let mut all = all.into_iter().map(|(_, path)| path).rev();
    all.find(|path| is_own(path) && is_free(path))
}

/// Joins the folder of this rank's job, or makes it.
///
/// # Errors
/// One sentence.
pub(crate) fn join(target: &Destination, rank: &Rank) -> Result<Joined, String> {
    let mut hash = DefaultHasher::new();
    rank.job.hash(&mut hash);
    let begun = format!(".parallax-job.{:016x}", hash.finish());
    let begun = target.folder().join(begun);
    let end = Instant::now() + PATIENCE;
    loop {
        if let Some(folder) = known(target, rank) {
            let replaced = None;
            return Ok(Joined { folder, replaced });
        }
        match Folder::make(&begun) {
            Ok(folder) => {
                let filled = fill(&folder, target, rank);
                // With its new name it is the job's: another rank may have made this one again.
                if !matches!(filled, Ok(Filled::Named(_))) {
                    let _ = folder.remove(Path::new(JOB));
                    let _ = fs::remove_dir(&begun);
                }
                match filled? {
                    Filled::Named(joined) | Filled::Needless(joined) => return Ok(joined),
                    Filled::NameTaken => {}
                }
            }
            Err(error) if error.kind() == ErrorKind::AlreadyExists => {}
            Err(error) => {
                let folder = target.folder();
                let folder = if folder.as_os_str().is_empty() {
                    Path::new(".")
                } else {
                    &folder
                };
                return Err(format!(
                    "cannot make an experiment in {}: {error}",
                    folder.display()
                ));
            }
        }
        if Instant::now() > end {
            return Err(format!(
                "another rank of this job has begun its experiment and not ended it: remove {}",
                begun.display()
            ));
        }
        thread::sleep(LOOK);
    }
}

/// What became of a folder that this rank has begun.
enum Filled {
    /// It has its name.
    Named(Joined),
    /// Another rank had made one since this one looked.
    Needless(Joined),
    /// Something else took the name meanwhile: the next one may be free.
    NameTaken,
}

/// Fills the folder, and gives it its name.
fn fill(begun: &Folder, target: &Destination, rank: &Rank) -> Result<Filled, String> {
    if let Some(folder) = known(target, rank) {
        let replaced = None;
        return Ok(Filled::Needless(Joined { folder, replaced }));
    }
    let job = Job {
        id: rank.job.clone(),
    };
    let written = begun.create(Path::new(JOB));
    let written = written.and_then(|mut file| file.write_all(job.to_json().as_bytes()));
    written.map_err(|error| format!("cannot write {}: {error}", begun.path().display()))?;
    let folder = match target.path() {
        Some(path) => path,
        None => target
            .folder()
            .join(rank::next_free(&target.folder(), None)),
    };
    usable(&folder, target.replace)?;
    not_live(&folder)?;
    let replaced = if target.replace {
        put_aside(&folder)?
    } else {
        None
    };
    match fs::rename(begun.path(), &folder) {
        Ok(()) => Ok(Filled::Named(Joined { folder, replaced })),
        Err(error) => {
            restore(&folder, replaced.as_deref());
            match error.kind() {
                ErrorKind::DirectoryNotEmpty | ErrorKind::AlreadyExists
                    if target.name.is_none() =>
                {
                    Ok(Filled::NameTaken)
                }
                _ => Err(format!("cannot make {}: {error}", folder.display())),
            }
        }
    }
}

impl Joined {
    /// Undoes it, because this rank's program does not start: removes the folder if no rank is in it.
    pub(crate) fn leave(&self) {
        /// Where a program cannot start, all ranks leave at about the same time.
        const OTHERS: Duration = Duration::from_secs(2);
        let end = Instant::now() + OTHERS;
        let is_empty = || job::ranks(&self.folder).is_ok_and(|ranks| ranks.is_empty());
        while self.replaced.is_some() && !is_empty() && Instant::now() < end {
            thread::sleep(LOOK);
        }
        if is_empty() {
            let _ = fs::remove_file(self.folder.join(JOB));
            let _ = fs::remove_dir(&self.folder);
        }
        restore(&self.folder, self.replaced.as_deref());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rank(number: u32, job: &str) -> Rank {
        Rank {
            number,
            size: Some(4),
            job: job.to_owned(),
        }
    }

    fn target(folder: &Path, name: Option<&str>, replace: bool) -> Destination {
        Destination {
            directory: Some(folder.to_owned()),
            name: name.map(PathBuf::from),
            replace,
            rank: None,
            is_in_job: true,
        }
    }

    fn names(folder: &Path) -> Vec<String> {
        let entries = fs::read_dir(folder).unwrap().flatten();
        let mut names: Vec<String> = entries
            .map(|entry| entry.file_name().into_string().unwrap())
            .collect();
        names.sort();
        names
    }

    #[test]
    fn many_ranks_at_once_make_one_folder() {
        for name in [Some("job.er"), None].repeat(20) {
            let folder = tempfile::tempdir().unwrap();
            let target = target(folder.path(), name, false);
            let joined: Vec<Joined> = thread::scope(|scope| {
                let ranks = (0..16).map(|number| {
                    let target = &target;
                    scope.spawn(move || join(target, &rank(number, "a")).unwrap())
                });
                let ranks: Vec<_> = ranks.collect();
                ranks.into_iter().map(|it| it.join().unwrap()).collect()
            });
            let expected = name.unwrap_or("test.1.er");
            assert!(joined.iter().all(|it| it.folder.ends_with(expected)));
            assert_eq!(names(folder.path()), [expected]);
            assert_eq!(Job::of(&joined[0].folder).unwrap().id, "a");
        }
    }

    #[test]
    fn ranks_of_two_jobs_take_two_numbers_and_a_second_recording_a_third() {
        let folder = tempfile::tempdir().unwrap();
        let target = target(folder.path(), None, false);
        let take = |number, job| {
            let joined = join(&target, &rank(number, job)).unwrap();
            fs::create_dir(job::rank(&joined.folder, number)).unwrap();
            joined.folder.file_name().unwrap().to_owned()
        };
        assert_eq!(take(0, "a"), "test.1.er");
        assert_eq!(take(0, "b"), "test.2.er");
        assert_eq!(take(1, "a"), "test.1.er");
        assert_eq!(take(1, "b"), "test.2.er");
        assert_eq!(take(0, "b"), "test.3.er");
    }

    #[test]
    fn a_name_that_another_job_has_is_refused_or_replaced_whole() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path();
        let keeps = target(path, Some("job.er"), false);
        let replaces = target(path, Some("job.er"), true);
        join(&keeps, &rank(0, "a")).unwrap();
        let refused = join(&keeps, &rank(0, "b")).unwrap_err();
        assert!(refused.contains("exists already"), "{refused}");
        assert_eq!(names(path), ["job.er"]);
        let made = join(&replaces, &rank(1, "b")).unwrap();
        assert!(made.replaced.is_some());
        assert_eq!(Job::of(&made.folder).unwrap().id, "b");
        // The rank's program does not start: the old one is there again.
        made.leave();
        assert_eq!(names(path), ["job.er"]);
        assert_eq!(Job::of(&path.join("job.er")).unwrap().id, "a");
        // What is not ours stays.
        fs::write(path.join("job.er/mine"), "").unwrap();
        let refused = join(&replaces, &rank(0, "c")).unwrap_err();
        assert!(refused.contains("not an experiment"), "{refused}");
        assert_eq!(names(&path.join("job.er")), ["job.json", "mine"]);
    }

    #[test]
    fn a_job_of_which_no_rank_starts_leaves_nothing() {
        let folder = tempfile::tempdir().unwrap();
        let target = target(folder.path(), Some("job.er"), false);
        let joined = [0, 1].map(|number| join(&target, &rank(number, "a")).unwrap());
        fs::create_dir(job::rank(&joined[1].folder, 1)).unwrap();
        joined[0].leave();
        assert_eq!(names(folder.path()), ["job.er"]);
        fs::remove_dir(job::rank(&joined[1].folder, 1)).unwrap();
        joined[1].leave();
        assert!(names(folder.path()).is_empty());
    }
}
