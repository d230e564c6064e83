//! Files of defaults for both readers: lines of commands that set options.

use std::io::ErrorKind;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

/// A line that cannot be split into words.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the quotation mark {mark} is not closed: {line}")]
pub struct Unclosed {
    /// The quotation mark that is not closed.
    pub mark: char,
    /// The line.
    pub line: String,
}

/// The longest file of defaults that is read, in bytes.
const LONGEST: u64 = 1 << 20;

/// Reads the files of defaults that exist: the machine's, the user's, and the current folder's. Later
/// ones override earlier ones. `home` is the user's home folder. Each has its text, or why it was
/// ignored, in one clause.
pub fn read(home: Option<&Path>) -> Vec<(PathBuf, Result<String, String>)> {
    let own = home.map(|home| home.join(".parallax.rc"));
    let (system, here) = (Path::new("/etc/parallax.rc"), Path::new(".parallax.rc"));
    let mut files: Vec<(PathBuf, Result<String, String>)> = Vec::new();
    for path in [Some(system), own.as_deref()].into_iter().flatten() {
        files.extend(text(path).map(|found| (path.to_owned(), found)));
    }
    // The folder may be another user's, and the user need not know that a file of his is there.
    let found = match std::fs::metadata(here) {
        Ok(metadata) if !is_trusted(metadata.uid()) => Some(Err(format!(
            "it belongs to user {}: copy it to use it",
            metadata.uid()
        ))),
        _ => text(here),
    };
    files.extend(found.map(|found| (here.to_owned(), found)));
    files
}

/// The text of a file; `None` if there is none, which is the usual case.
fn text(path: &Path) -> Option<Result<String, String>> {
    match files::read(path, LONGEST) {
        Ok(bytes) => Some(Ok(String::from_utf8_lossy(&bytes).into_owned())),
        Err(error) if error.kind() == ErrorKind::NotFound => None,
        Err(error) => Some(Err(error.to_string())),
    }
}

/// Whether a file of this owner may set defaults for the user of this process.
fn is_trusted(owner: u32) -> bool {
    owner == 0 || owner == rustix::process::geteuid().as_raw()
}

/// Splits a line into words: at spaces, but not in `"…"` or `'…'`; `#` at the beginning of a word
/// starts a comment.
///
/// # Errors
/// If a quotation mark is not closed.
pub fn words(line: &str) -> Result<Vec<String>, Unclosed> {
    let mut words = Vec::new();
    let mut letters = line.chars().peekable();
    loop {
        while letters.next_if(|letter| letter.is_whitespace()).is_some() {}
        match letters.peek() {
            None | Some('#') => return Ok(words),
            Some(_) => {}
        }
        let mut word = String::new();
        while let Some(letter) = letters.next_if(|letter| !letter.is_whitespace()) {
            if letter != '"' && letter != '\'' {
                word.push(letter);
                continue;
            }
            loop {
                match letters.next() {
                    Some(end) if end == letter => break,
                    Some(inside) => word.push(inside),
                    None => {
                        return Err(Unclosed {
                            mark: letter,
                            line: line.to_owned(),
                        });
                    }
                }
            }
        }
        words.push(word);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_parted_by_spaces_outside_quotation_marks() {
        let split = words("pathmap \"/old place\" '/new'/here # a comment").unwrap();
        assert_eq!(split, ["pathmap", "/old place", "/new/here"]);
        assert_eq!(words("  # nothing").unwrap(), Vec::<String>::new());
        assert_eq!(words("say 'it").unwrap_err().mark, '\'');
    }

    #[test]
    fn the_folders_file_is_the_last() {
        let all = files(Some(Path::new("/home/ann")));
        assert_eq!(all.len(), 3);
        assert_eq!(all[1], Path::new("/home/ann/.parallax.rc"));
        assert_eq!(all[2], Path::new(".parallax.rc"));
    }
}
