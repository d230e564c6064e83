//! The clipboard, and written files.

use std::fs::OpenOptions;
use std::io::{self, Write};
use std::path::Path;

/// Copies a text to the terminal's clipboard by OSC 52, which some terminals ignore.
pub(crate) fn copy(text: &str) -> io::Result<()> {
    let mut out = io::stdout();
    write!(out, "\x1b]52;c;{}\x07", base64(text.as_bytes()))?;
    out.flush()
}

/// RFC 4648, with padding.
fn base64(bytes: &[u8]) -> String {
    const LETTERS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let mut text = String::with_capacity(bytes.len().div_ceil(3) * 4);
    for part in bytes.chunks(3) {
        let at = |place: usize| u32::from(part.get(place).copied().unwrap_or(0));
        let bits = at(0) << 16 | at(1) << 8 | at(2);
        for place in 0..4 {
            let letter = LETTERS[(bits >> (18 - 6 * place)) as usize & 63];
            text.push(if place <= part.len() {
                letter as char
            } else {
                '='
            });
        }
    }
    text
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
    fn base64_pads_what_is_no_multiple_of_three() {
        // RFC 4648, section 10.
        let of = |text: &str| base64(text.as_bytes());
        assert_eq!(of(""), "");
        assert_eq!(of("f"), "Zg==");
        assert_eq!(of("fo"), "Zm8=");
        assert_eq!(of("foobar"), "Zm9vYmFy");
    }

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
