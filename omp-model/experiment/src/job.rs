//! The folder of a job, whose ranks are experiments in it.
//!
//! `job.er/job.json` tells which job it is, `job.er/r0.er`, `job.er/r1.er` … are its ranks. A rank is an experiment
//! like any other, and can be read alone.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

/// The file that tells which job a folder is of.
pub const JOB: &str = "job.json";

/// A job.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Job {
    /// Equal for all ranks of one launch, and for no other: [`Rank::job`](crate::header::Rank::job).
    pub id: String,
}

/// The longest `job.json` that is read, in bytes.
const LONGEST: u64 = 64 << 10;

impl Job {
    /// The job of a folder; `None` if it is not known.
    pub fn of(folder: &Path) -> Option<Job> {
        let bytes = untrusted::read(&folder.join(JOB), LONGEST).ok()?;
        serde_json::from_slice(&bytes).ok()
    }

    /// What stands in the folder's file.
    pub fn to_json(&self) -> String {
        serde_json::json!(self).to_string()
    }
}

/// The experiment of a rank.
pub fn rank(folder: &Path, number: u32) -> PathBuf {
    folder.join(format!("r{number}.er"))
}

/// The experiments of a folder's ranks, by rank; none if it is no job's.
///
/// # Errors
/// Those of reading the folder.
pub fn ranks(folder: &Path) -> io::Result<Vec<PathBuf>> {
    let mut numbers = Vec::new();
    for entry in fs::read_dir(folder)? {
        numbers.extend(number(&entry?.file_name()));
    }
    numbers.sort_unstable();
    Ok(numbers.iter().map(|it| rank(folder, *it)).collect())
}

/// The experiments that a name stands for: those of a job's ranks, or itself, whatever it is.
pub fn experiments(path: &Path) -> Vec<PathBuf> {
    let is_experiment = fs::symlink_metadata(path.join(crate::RECORDS)).is_ok();
    match ranks(path) {
        Ok(ranks) if !is_experiment && !ranks.is_empty() => ranks,
        _ => vec![path.to_owned()],
    }
}

/// The name of the job's folder, if this is the name of a rank's experiment in it.
pub fn of_rank(name: &str) -> Option<&str> {
    let (job, rank) = name.rsplit_once('/')?;
    number(rank.as_ref()).map(|_| job)
}

/// The name of several experiments: their job's, if all are in its folder; else their names, separated by commas.
pub fn name(names: &[String]) -> String {
    let first = names.first().and_then(|first| of_rank(first));
    match first {
        Some(job) if names.len() > 1 && names.iter().all(|it| of_rank(it) == first) => {
            job.to_owned()
        }
        _ => names.join(", "),
    }
}

/// The rank of an experiment of this name.
fn number(name: &std::ffi::OsStr) -> Option<u32> {
    let digits = name.to_str()?.strip_prefix('r')?.strip_suffix(".er")?;
    let number = digits.parse().ok()?;
    // No other spelling of the number, or two names were one rank.
    (digits == u32::to_string(&number)).then_some(number)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_job_s_ranks_are_found_by_their_numbers() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path();
        for name in ["r10.er", "r2.er", "r07.er", "rx.er", "r3", "hosts"] {
            fs::create_dir(path.join(name)).expect("writable");
        }
        let expected = ["r2.er", "r10.er"].map(|name| path.join(name));
        assert_eq!(experiments(path), expected);
        // An experiment is itself, whatever else lies in it.
        fs::write(path.join(crate::RECORDS), "").expect("writable");
        assert_eq!(experiments(path), [path]);
        let missing = Path::new("/nonexistent/e.er");
        assert_eq!(experiments(missing), [missing]);
    }

    #[test]
    fn a_job_is_what_its_file_says() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path();
        assert_eq!(Job::of(path), None);
        fs::write(path.join(JOB), r#"{"id":"77","later":1}"#).expect("writable");
        let job = Job {
            id: "77".to_owned(),
        };
        assert_eq!(Job::of(path), Some(job));
        fs::write(path.join(JOB), "[").expect("writable");
        assert_eq!(Job::of(path), None);
    }

    #[test]
    fn ranks_of_one_job_have_its_name() {
        let named = |names: &[&str]| {
            let names: Vec<String> = names.iter().map(ToString::to_string).collect();
            name(&names)
        };
        assert_eq!(named(&["job.er/r0.er", "job.er/r12.er"]), "job.er");
        assert_eq!(named(&["job.er/r0.er"]), "job.er/r0.er");
        assert_eq!(named(&["a/r0.er", "b/r1.er"]), "a/r0.er, b/r1.er");
        assert_eq!(named(&["a/x.er", "a/y.er"]), "a/x.er, a/y.er");
    }
}
