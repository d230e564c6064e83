//! The file of what `collect -r` found, beside the records.

use std::fs;
use std::io::ErrorKind;
use std::path::Path;

use findings::{FILE, Findings};
use untrusted::printable;

use crate::ExperimentError;

/// The longest file that is read, in bytes. In memory its rows take up to three times as much.
const LONGEST: u64 = 64 << 20;

/// Writes what was found into the folder of an experiment: a reader finds all of it, or none.
///
/// # Errors
/// [`ExperimentError::Io`] if the file system refuses.
pub fn write(experiment: &Path, findings: &Findings) -> Result<(), ExperimentError> {
    let path = experiment.join(FILE);
    let fresh = experiment.join(format!("{FILE}.new"));
    let replace = || {
        let text = findings.to_json().map_err(std::io::Error::other)?;
        fs::write(&fresh, text)?;
        fs::rename(&fresh, &path)
    };
    replace().map_err(|cause| ExperimentError::Io { path, cause })
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
    use findings::{Check, VERSION};

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
        write(folder.path(), &findings).expect("writable");
        findings.coverage.losses = vec!["a\u{241b}[2Jb".to_owned()];
        assert_eq!(read(folder.path()), Ok(Some(findings)));
        let left: Vec<_> = fs::read_dir(folder.path()).expect("a folder").collect();
        assert_eq!(left.len(), 1, "the file alone");
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
