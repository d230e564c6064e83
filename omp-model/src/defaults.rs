//! Files of defaults for both readers: lines of commands that set options.

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

/// The files of defaults: the machine's, the user's, and the current folder's. Later ones override
/// earlier ones. `home` is the user's home folder.
pub fn files(home: Option<&Path>) -> Vec<PathBuf> {
    let own = home.map(|home| home.join(".parallax.rc"));
    let (system, here) = ("/etc/parallax.rc".into(), ".parallax.rc".into());
    [Some(system), own, Some(here)]
        .into_iter()
        .flatten()
        .collect()
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
