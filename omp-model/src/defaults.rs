//! Files of defaults for both readers: lines of commands that set options.

use std::fs::File;
use std::io::{self, ErrorKind};
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
    let anyone = |_: &File| Ok(());
    let mut found = vec![(
        "/etc/parallax.rc".into(),
        text("/etc/parallax.rc".as_ref(), anyone),
    )];
    found.extend(own.map(|own| (own.clone(), text(&own, anyone))));
    // The folder may be another user's, and the user need not know that a file of his is there.
    let here = |file: &File| is_trusted(file, &std::env::current_dir()?);
    found.push((".parallax.rc".into(), text(".parallax.rc".as_ref(), here)));
    let exists = |(path, text): (PathBuf, Option<_>)| Some((path, text?));
    found.into_iter().filter_map(exists).collect()
}

/// The text of a file if it is trusted; `None` if there is none, which is the usual case.
fn text(path: &Path, trusts: impl Fn(&File) -> io::Result<()>) -> Option<Result<String, String>> {
    let read = || {
        let file = untrusted::open(path)?;
        trusts(&file)?;
        untrusted::read_open(file, LONGEST)
    };
    match read() {
        Ok(bytes) => Some(Ok(String::from_utf8_lossy(&bytes).into_owned())),
        Err(error) if error.kind() == ErrorKind::NotFound => None,
        Err(error) => Some(Err(error.to_string())),
    }
}

/// Whether a file of this folder may set defaults for the user of this process: it is his or root's, and no
/// link to another place. Whoever owns the folder could make a link to any file that the user can read, and
/// messages would show its words.
fn is_trusted(file: &File, folder: &Path) -> io::Result<()> {
    let owner = file.metadata()?.uid();
    let why = if !is_users(owner) {
        format!("it belongs to user {owner}: copy it to use it")
    } else if untrusted::place(file)?.parent() != Some(folder) {
        "it is a link to another place: copy it to use it".to_owned()
    } else {
        return Ok(());
    };
    Err(io::Error::new(ErrorKind::PermissionDenied, why))
}

/// Whether an owner is the user of this process, or root.
fn is_users(owner: u32) -> bool {
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
    use std::os::unix::fs::symlink;

    use super::*;

    #[test]
    fn words_are_parted_by_spaces_outside_quotation_marks() {
        let split = words("pathmap \"/old place\" '/new'/here # a comment").unwrap();
        assert_eq!(split, ["pathmap", "/old place", "/new/here"]);
        assert_eq!(words("  # nothing").unwrap(), Vec::<String>::new());
        assert_eq!(words("say 'it").unwrap_err().mark, '\'');
    }

    #[test]
    fn a_file_that_is_not_trusted_is_ignored_and_said_to_be() {
        let folder = tempfile::tempdir().unwrap();
        let here = std::fs::canonicalize(folder.path()).unwrap();
        let [path, link] = ["rc", "link"].map(|name| here.join(name));
        let trusted = |path: &Path| text(path, |file| is_trusted(file, &here));
        assert_eq!(trusted(&path), None);
        std::fs::write(&path, "limit 5").unwrap();
        assert_eq!(trusted(&path), Some(Ok("limit 5".to_owned())));
        // Anybody can make a link to a file of root's.
        symlink("/etc/passwd", &link).unwrap();
        let refused = trusted(&link).unwrap().unwrap_err();
        assert_eq!(refused, "it is a link to another place: copy it to use it");
        // Longer than any that a person writes.
        std::fs::write(&path, vec![b'#'; LONGEST as usize + 1]).unwrap();
        let refused = trusted(&path).unwrap().unwrap_err();
        assert!(refused.contains("longer than"), "{refused}");
        let own = rustix::process::geteuid().as_raw();
        assert!(is_users(own) && is_users(0) && !is_users(own + 1));
    }
}
