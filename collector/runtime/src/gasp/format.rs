//! The description of an event with its arguments, in printf's form, without memory of its own.

use std::ffi::{CStr, c_char};
use std::fmt::{self, Write};

use omp_ring::control::NAME_BYTES;

use super::arguments::Arguments;

/// A name that is cut where it is full.
#[derive(Debug)]
pub(super) struct Name {
    bytes: [u8; NAME_BYTES],
    length: usize,
}

impl Name {
    pub(super) const fn new() -> Name {
        Name {
            bytes: [0; NAME_BYTES],
            length: 0,
        }
    }

    pub(super) fn bytes(&self) -> &[u8] {
        self.bytes.get(..self.length).unwrap_or_default()
    }

    pub(super) fn push(&mut self, bytes: &[u8]) {
        for (to, byte) in self.bytes.iter_mut().skip(self.length).zip(bytes) {
            *to = *byte;
            self.length += 1;
        }
    }
}

impl Write for Name {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        self.push(text.as_bytes());
        Ok(())
    }
}

/// The most digits of a precision.
const MOST_DIGITS: usize = 17;

/// One conversion of a description.
#[derive(Clone, Copy, Debug, Default)]
struct Conversion {
    is_long: bool,
    is_half: u8,
    digits: Option<usize>,
    letter: u8,
}

/// Adds the description with its arguments. Returns false at a conversion that is none of those that are known: the
/// rest is left out, because the place of the next argument is not known.
///
/// # Safety
/// The list is of a call that has the arguments that the description names; strings end.
pub(super) unsafe fn add(name: &mut Name, description: &[u8], arguments: &mut Arguments) -> bool {
    let mut rest = description;
    while let [first, behind @ ..] = rest {
        rest = behind;
        if *first != b'%' {
            name.push(&[*first]);
            continue;
        }
        if let [b'%', behind @ ..] = rest {
            name.push(b"%");
            rest = behind;
            continue;
        }
        let Some((conversion, behind)) = conversion(rest) else {
            return false;
        };
        rest = behind;
        // SAFETY: the caller's promise.
        unsafe { convert(name, conversion, arguments) };
    }
    true
}

/// The conversion that follows a per cent sign, and what is behind it.
fn conversion(text: &[u8]) -> Option<(Conversion, &[u8])> {
    let mut found = Conversion::default();
    let mut is_precise = false;
    for (at, &letter) in text.iter().enumerate() {
        match letter {
            b'-' | b'+' | b' ' | b'#' => {}
            b'0'..=b'9' if is_precise => {
                let before = found.digits.unwrap_or(0) * 10;
                found.digits = Some((before + usize::from(letter - b'0')).min(MOST_DIGITS));
            }
            b'0'..=b'9' => {}
            b'.' => {
                is_precise = true;
                found.digits = Some(0);
            }
            b'l' | b'z' | b'j' | b't' => found.is_long = true,
            b'h' => found.is_half += 1,
            b'd' | b'i' | b'u' | b'x' | b'X' | b'o' | b'c' | b's' | b'p' | b'f' | b'F' | b'e'
            | b'E' | b'g' | b'G' => {
                found.letter = letter;
                return Some((found, text.get(at + 1..).unwrap_or_default()));
            }
            _ => return None,
        }
    }
    None
}

/// # Safety
/// As for [`add`].
unsafe fn convert(name: &mut Name, conversion: Conversion, arguments: &mut Arguments) {
    let digits = conversion.digits.unwrap_or(6);
    // SAFETY: the caller's promise, here and below.
    let mut word = || unsafe { arguments.word() };
    // A name takes whatever is written.
    let _ = match conversion.letter {
        b'd' | b'i' => write!(name, "{}", signed(word(), conversion)),
        b'u' => write!(name, "{}", unsigned(word(), conversion)),
        b'x' => write!(name, "{:x}", unsigned(word(), conversion)),
        b'X' => write!(name, "{:X}", unsigned(word(), conversion)),
        b'o' => write!(name, "{:o}", unsigned(word(), conversion)),
        b'p' => write!(name, "{:#x}", word()),
        b'c' => {
            name.push(&[word() as u8]);
            Ok(())
        }
        b's' => {
            let text = word() as *const c_char;
            if text.is_null() {
                name.push(b"(null)");
            } else {
                // SAFETY: the caller's promise.
                let text = unsafe { CStr::from_ptr(text) }.to_bytes();
                let most = conversion.digits.unwrap_or(usize::MAX);
                name.push(text.get(..most).unwrap_or(text));
            }
            Ok(())
        }
        // SAFETY: the caller's promise.
        b'e' | b'E' => write!(name, "{:.digits$e}", unsafe { arguments.number() }),
        // SAFETY: the caller's promise.
        b'g' | b'G' => write!(name, "{}", unsafe { arguments.number() }),
        // SAFETY: the caller's promise.
        _ => write!(name, "{:.digits$}", unsafe { arguments.number() }),
    };
}

const fn signed(word: u64, conversion: Conversion) -> i64 {
    match (conversion.is_long, conversion.is_half) {
        (true, _) => word as i64,
        (_, 0) => word as i32 as i64,
        (_, 1) => word as i16 as i64,
        _ => word as i8 as i64,
    }
}

const fn unsigned(word: u64, conversion: Conversion) -> u64 {
    match (conversion.is_long, conversion.is_half) {
        (true, _) => word,
        (_, 0) => word as u32 as u64,
        (_, 1) => word as u16 as u64,
        _ => word as u8 as u64,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(
        description: &str,
        words: [u64; 6],
        numbers: [f64; 2],
        stack: &[u64],
    ) -> (String, bool) {
        let (mut arguments, _saved) = Arguments::of(&words, &numbers, stack);
        let mut name = Name::new();
        // SAFETY: lists of the tests.
        let is_whole = unsafe { add(&mut name, description.as_bytes(), &mut arguments) };
        (String::from_utf8_lossy(name.bytes()).into_owned(), is_whole)
    }

    #[test]
    fn descriptions_have_their_arguments() {
        let none = [0.0; 2];
        let minus = u64::from(-3_i32 as u32);
        let words = [minus, 255, c"abc".as_ptr() as u64, 7, u64::MAX, 5];
        let (said, is_whole) = text("i=%d %#x of %s: %lu%% %ld %c", words, none, &[]);
        assert_eq!((&*said, is_whole), ("i=-3 ff of abc: 7% -1 \u{5}", true));
        let (said, _) = text("%f %.2e %g %d %d", words, [1.5, 250.0], &[]);
        assert!(said.starts_with("1.500000 2.50e2 "), "{said}");
        // The seventh integer is on the stack.
        let (said, _) = text("%u%u%u%u%u%u %u", [1; 6], none, &[42]);
        assert_eq!(said, "111111 42");
        let (said, is_whole) = text("a %n b", words, none, &[]);
        assert_eq!((&*said, is_whole), ("a ", false));
        let (said, is_whole) = text("end %", words, none, &[]);
        assert_eq!((&*said, is_whole), ("end ", false));
        assert_eq!(text("%s", [0; 6], none, &[]).0, "(null)");
        let long = "x".repeat(200);
        assert_eq!(text(&long, words, none, &[]).0.len(), NAME_BYTES);
    }
}
