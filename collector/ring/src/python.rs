//! The frames of Python at a calling context, as a thread sends them: copied from the interpreter's memory while the
//! thread is in a call that the interpreter made.
//!
//! They follow the stack words of the context ([`crate::context`]), in words of eight bytes: the interpreter's
//! version, then for each frame, innermost first:
//!
//! ```text
//! activation │ line, first line │ text of the name │ text of the file
//! ```
//!
//! A text is a word with the number of its characters and the bytes of each (1, 2 or 4, as the interpreter keeps
//! them), and the characters.

/// The maximum number of words sent for a context, a multiple of two.
pub const MAX_PYTHON: usize = 1 << 13;

/// Bits of the number of characters in the first word of a text.
const LENGTH_BITS: u32 = 32;

/// The frames of a thread at a context.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Python {
    /// `PY_VERSION_HEX` of the interpreter.
    pub version: u32,
    /// Whether the library knows where this version has its frames.
    pub is_known: bool,
    /// Innermost first.
    pub frames: Vec<Frame>,
}

/// The bit beside the version of an interpreter whose frames are not known.
pub const UNKNOWN: u64 = 1 << 32;

/// A frame of Python.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Frame {
    /// Where an activation of the interpreter began with it: an address within the frame of the C function that is
    /// active. Calls from Python to Python need no new activation, and have 0.
    pub activation: u64,
    /// The line that it executes; 0: not known.
    pub line: u32,
    /// The first line of its function.
    pub first_line: u32,
    /// Its function's name, with those that it is defined in.
    pub name: String,
    /// The file, as Python names it.
    pub file: String,
}

/// A frame as it is written.
#[derive(Clone, Copy, Debug)]
pub struct Written<'a> {
    /// See [`Frame::activation`].
    pub activation: u64,
    /// See [`Frame::line`].
    pub line: u32,
    /// See [`Frame::first_line`].
    pub first_line: u32,
    /// The name and the file.
    pub texts: [Text<'a>; 2],
}

/// A text as the interpreter keeps it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Text<'a> {
    /// Bytes of a character: 1, 2 or 4.
    pub width: u8,
    /// The characters, whose bytes are in the machine's order.
    pub bytes: &'a [u8],
}

impl Written<'_> {
    /// Writes the frame to the beginning of `words`. Returns the number of words; `None` if there is no room for all
    /// of it.
    pub fn write(&self, words: &mut [u64]) -> Option<usize> {
        let lines = u64::from(self.line) | u64::from(self.first_line) << 32;
        let mut at = 2;
        let (head, _) = words.split_first_chunk_mut()?;
        *head = [self.activation, lines];
        for Text { width, bytes } in &self.texts {
            let length = bytes.len() / usize::from((*width).max(1));
            *words.get_mut(at)? = length as u64 | u64::from(*width) << LENGTH_BITS;
            at += 1;
            for piece in bytes.chunks(8) {
                let mut word = [0; 8];
                word.get_mut(..piece.len())?.copy_from_slice(piece);
                *words.get_mut(at)? = u64::from_ne_bytes(word);
                at += 1;
            }
        }
        Some(at)
    }
}

impl Python {
    /// From the words that were sent; what follows a frame that makes no sense is left out.
    #[must_use]
    pub fn of_words(words: &[u64]) -> Option<Python> {
        let (version, mut rest) = words.split_first()?;
        let mut python = Python {
            version: *version as u32,
            is_known: version & UNKNOWN == 0,
            frames: Vec::new(),
        };
        while let Some((frame, after)) = read(rest) {
            python.frames.push(frame);
            rest = after;
        }
        Some(python)
    }
}

fn read(words: &[u64]) -> Option<(Frame, &[u64])> {
    let ([activation, lines], rest) = words.split_first_chunk()?;
    let (name, rest) = read_text(rest)?;
    let (file, rest) = read_text(rest)?;
    let frame = Frame {
        activation: *activation,
        line: *lines as u32,
        first_line: (lines >> 32) as u32,
        name,
        file,
    };
    // The last word may only fill a pair.
    (!frame.name.is_empty()).then_some((frame, rest))
}

fn read_text(words: &[u64]) -> Option<(String, &[u64])> {
    let (head, rest) = words.split_first()?;
    let (length, width) = (*head as u32 as usize, (head >> LENGTH_BITS) as usize);
    if !matches!(width, 1 | 2 | 4) {
        return None;
    }
    let count = (length * width).div_ceil(8);
    let (characters, rest) = rest.split_at_checked(count)?;
    let bytes: Vec<u8> = characters.iter().flat_map(|it| it.to_ne_bytes()).collect();
    let character = |bytes: &[u8]| {
        let mut word = [0; 4];
        word[..width].copy_from_slice(bytes);
        char::from_u32(u32::from_le_bytes(word)).unwrap_or(char::REPLACEMENT_CHARACTER)
    };
    let characters = bytes.chunks_exact(width).take(length);
    Some((characters.map(character).collect(), rest))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(width: u8, bytes: &[u8]) -> Text<'_> {
        Text { width, bytes }
    }

    #[test]
    fn frames_come_back_with_their_texts_whatever_the_width_of_characters() {
        let greek: Vec<u8> = "λx".encode_utf16().flat_map(u16::to_ne_bytes).collect();
        let wide: Vec<u8> = "𝑓"
            .chars()
            .flat_map(|it| (it as u32).to_ne_bytes())
            .collect();
        let names = [text(1, b"Model.f\xeft"), text(2, &greek), text(4, &wide)];
        let mut words = [0; 64];
        words[0] = 0x030c_01f0;
        let mut at = 1;
        for (name, activation) in names.into_iter().zip(1..) {
            let frame = Written {
                activation,
                line: 7,
                first_line: 5,
                texts: [name, text(1, b"m.py")],
            };
            at += frame.write(&mut words[at..]).unwrap();
        }
        let python = Python::of_words(&words[..at + at % 2]).unwrap();
        assert_eq!((python.version, python.is_known), (0x030c_01f0, true));
        let found: Vec<(&str, &str)> = python
            .frames
            .iter()
            .map(|it| (it.name.as_str(), it.file.as_str()))
            .collect();
        assert_eq!(
            found,
            [("Model.fït", "m.py"), ("λx", "m.py"), ("𝑓", "m.py")]
        );
        let Frame {
            activation,
            line,
            first_line,
            ..
        } = python.frames[2];
        assert_eq!((activation, line, first_line), (3, 7, 5));
        // Of words that end too early, what is whole.
        for length in 0..at {
            let part = Python::of_words(&words[..length]);
            let frames = part.map(|it| it.frames).unwrap_or_default();
            assert_eq!(frames, python.frames[..frames.len()]);
            assert!(frames.len() < 3);
        }
        assert_eq!(
            Python::of_words(&[1, 2, 3, u64::MAX, 4, 5]).unwrap().frames,
            []
        );
    }

    #[test]
    fn a_frame_without_room_is_not_written() {
        let frame = Written {
            activation: 1,
            line: 2,
            first_line: 1,
            texts: [text(1, b"function"), text(1, b"file.py")],
        };
        let length = frame.write(&mut [0; 9]).unwrap();
        assert_eq!(length, 6);
        for room in 0..length {
            assert_eq!(frame.write(&mut [0; 9][..room]), None);
        }
    }
}
