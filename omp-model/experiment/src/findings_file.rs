//! The file of what `collect -r` found, beside the records.

use std::io::ErrorKind;
use std::path::Path;

use findings::{FILE, Findings};
use untrusted::printable;

use crate::ExperimentError;
use crate::folder::Folder;

/// The longest file that is read, in bytes. In memory its rows take up to three times as much.
const LONGEST: u64 = 64 << 20;

/// The most rows of a kind that are written, whatever their length.
const MOST: usize = 50_000;

/// Writes what was found into the folder of an experiment: a reader finds all of it, or none. Of more than is
/// read, the last rows are left out, and that is said.
///
/// # Errors
/// [`ExperimentError::Io`] if the file system refuses.
pub fn write(experiment: &Folder, findings: &Findings) -> Result<(), ExperimentError> {
    let text = readable(findings, MOST, LONGEST).map_err(std::io::Error::other);
    let written = text.and_then(|text| experiment.replace(FILE, &text));
    written.map_err(|cause| ExperimentError::Io {
        path: experiment.path().join(FILE),
        cause,
    })
}

/// The content of the file, with at most that many rows of a kind and bytes.
fn readable(findings: &Findings, most: usize, longest: u64) -> Result<Vec<u8>, String> {
    let all = lengths(findings);
    let mut kept = all.map(|rows| rows.min(most));
    loop {
        let text = if kept == all {
            findings.to_json()?
        } else {
            first(findings, kept).to_json()?
        };
        let length = text.len() as u64;
        let longest_list = kept.iter_mut().max().filter(|rows| **rows > 0);
        let Some(rows) = longest_list.filter(|_| length > longest) else {
            return Ok(text);
        };
        // Rows differ in length.
        *rows = (*rows as f64 * (longest as f64 / length as f64) * 0.9) as usize;
    }
}

/// How many rows there are of each kind.
fn lengths(findings: &Findings) -> [usize; 4] {
    [
        findings.races.len(),
        findings.deadlocks.len(),
        findings.misuse.len(),
        findings.uninitialised.len(),
    ]
}

/// The first rows of each kind, and how many there are more.
fn first(findings: &Findings, kept: [usize; 4]) -> Findings {
    let [races, deadlocks, misuse, uninitialised] = kept;
    let mut coverage = findings.coverage.clone();
    let left_out: usize = lengths(findings).iter().sum::<usize>() - kept.iter().sum::<usize>();
    coverage.losses.push(format!(
        "{left_out} more findings are not stored: no report could show as many"
    ));
    Findings {
        version: findings.version,
        checks: findings.checks.clone(),
        coverage,
        races: findings.races[..races].to_vec(),
        deadlocks: findings.deadlocks[..deadlocks].to_vec(),
        misuse: findings.misuse[..misuse].to_vec(),
        uninitialised: findings.uninitialised[..uninitialised].to_vec(),
        sources: findings.sources.clone(),
    }
}

/// What was found, with text that a terminal does not obey; `None` if the experiment has no such file.
///
/// # Errors
/// A phrase that says what is wrong with the file.
pub(crate) fn read(experiment: &Path) -> Result<Option<Findings>, String> {
    let bytes = match untrusted::read(&experiment.join(FILE), LONGEST) {
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(None),
        read => read.map_err(|error| printable(&error.to_string()).into_owned())?,
    };
    let mut findings =
        Findings::from_json(&bytes).map_err(|error| printable(&error).into_owned())?;
    findings.each_text(&mut |text| *text = printable(text).into_owned());
    Ok(Some(findings))
}

#[cfg(test)]
mod tests {
    use std::fs;

    use findings::{Check, Misuse, VERSION};

    use super::*;

    #[test]
    fn findings_come_back_as_written_and_printable() {
        let folder = tempfile::tempdir().expect("a folder");
        assert_eq!(read(folder.path()), Ok(None));
        let mut findings = Findings {
            version: VERSION,
            checks: vec![Check::Race, Check::Deadlock],
            ..Findings::default()
        };
        findings.coverage.losses = vec!["a\u{1b}[2Jb".to_owned()];
        let open = Folder::open(folder.path()).expect("it is there");
        write(&open, &findings).expect("writable");
        findings.coverage.losses = vec!["a\u{241b}[2Jb".to_owned()];
        assert_eq!(read(folder.path()), Ok(Some(findings)));
        let left: Vec<_> = fs::read_dir(folder.path()).expect("a folder").collect();
        assert_eq!(left.len(), 1, "the file alone");
    }

    #[test]
    fn more_than_is_read_is_not_written_but_counted() {
        let row = |number: u64| Misuse {
            kind: "a kind".to_owned(),
            detail: number.to_string(),
            stack: Vec::new(),
            count: 1,
        };
        let all = || Findings {
            version: VERSION,
            misuse: (0..300).map(row).collect(),
            ..Findings::default()
        };
        let kept = |most, longest| {
            let text = readable(&all(), most, longest).expect("JSON");
            let read = Findings::from_json(&text).expect("what was written");
            assert!(text.len() as u64 <= longest);
            assert_eq!(read.misuse, all().misuse[..read.misuse.len()]);
            (read.misuse.len(), read.coverage.losses)
        };
        assert_eq!(kept(300, 1 << 20), (300, Vec::new()));
        for (most, longest) in [(300, 20_000), (100, 1 << 20), (200, 10_000)] {
            let (count, losses) = kept(most, longest);
            assert!(count > 0 && count <= most, "{count} of {most}, {longest}");
            let [loss] = losses.as_slice() else {
                panic!("{losses:?}");
            };
            assert!(
                loss.starts_with(&format!("{} more findings", 300 - count)),
                "{loss}"
            );
        }
    }

    #[test]
    fn a_damaged_file_is_refused_with_a_phrase() {
        let folder = tempfile::tempdir().expect("a folder");
        let refused = |text: &str| {
            fs::write(folder.path().join(FILE), text).expect("writable");
            read(folder.path()).expect_err("it is damaged")
        };
        assert_eq!(
            refused(&format!(
                r#"{{"version":{},"checks":[],"coverage":{{"accesses":0,"threads":0,"waited":0,"uninstrumented":[],"losses":[]}},"races":[],"deadlocks":[],"misuse":[],"uninitialised":[]}}"#,
                VERSION + 1
            )),
            format!("version {} is not known", VERSION + 1)
        );
        assert!(refused("{\"version\":1").contains("EOF"));
        assert!(refused(&"[".repeat(1 << 20)).len() < 200);
    }
}
