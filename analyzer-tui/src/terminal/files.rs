//! The clipboard, and written files.

use std::fs::OpenOptions;
use std::io::{self, Write};
use std::path::Path;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;

/// Copies a text to the terminal's clipboard by OSC 52, which some terminals ignore.
pub(crate) fn copy(text: &str) -> io::Result<()> {
    let mut out = io::stdout();
    write!(out, "\x1b]52;c;{}\x07", STANDARD.encode(text))?;
    out.flush()
}

/// Writes a file in the current folder, with a number in its name if the name is taken. If such a
/// file has the same contents already, writes none: a held key makes one file. Returns a sentence.
pub(crate) fn write_file(stem: &str, ending: &str, contents: &str) -> Result<String, String> {
    write_into(Path::new(""), stem, ending, contents)
}

fn write_into(folder: &Path, stem: &str, ending: &str, contents: &str) -> Result<String, String> {
    for number in 1.. {
        let name = match number {
            1 => format!("{stem}.{ending}"),
            number => format!("{stem}-{number}.{ending}"),
        };
        let path = folder.join(&name);
        let opened = OpenOptions::new().write(true).create_new(true).open(&path);
        match opened {
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
                if has(&path, contents) {
                    return Ok(format!("{name} has just that already"));
                }
            }
            Err(error) => {
                return Err(format!(
                    "cannot write {name}: {error}; run analyzer in another folder"
                ));
            }
            Ok(mut file) => {
                let written = file.write_all(contents.as_bytes());
                return match written {
                    Ok(()) => Ok(format!("wrote {name}")),
                    Err(error) => Err(format!("cannot write {name}: {error}")),
                };
            }
        }
    }
    Err(format!("every name like {stem}.{ending} is taken"))
}

/// Whether a file holds a text and nothing else; a file that cannot be read does not.
fn has(path: &Path, contents: &str) -> bool {
    let length = std::fs::metadata(path).map(|about| about.len());
    length.is_ok_and(|length| length == contents.len() as u64)
        && std::fs::read(path).is_ok_and(|bytes| bytes == contents.as_bytes())
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a test that cannot go on has failed")]
mod tests {
    use super::*;

    #[test]
    fn the_same_view_written_again_is_one_file() {
        let folder = tempfile::tempdir().unwrap();
        let write = |contents: &str| write_into(folder.path(), "a", "txt", contents).unwrap();
        assert_eq!(write("one"), "wrote a.txt");
        assert_eq!(write("one"), "a.txt has just that already");
        assert_eq!(write("two"), "wrote a-2.txt");
        assert_eq!(write("two"), "a-2.txt has just that already");
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 2);
    }
}
