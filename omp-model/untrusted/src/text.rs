//! Names that someone else has given.

use std::borrow::Cow;

/// The longest text that [`printable`] leaves whole, in bytes: as long as a path can be (`PATH_MAX`), and a
/// line that a pipe takes at once (`PIPE_BUF`). A report repeats a name in each row of a function's lines and
/// instructions, so that the length of names multiplies the memory that it takes.
pub const LONGEST_TEXT: usize = 4095;

/// A name, path or line as text that a terminal shows and never obeys: control characters become
/// their symbols (U+2400 and on), and so do line ends, because a name is never longer than a line.
/// Characters that change the direction of what follows become U+FFFD, as do the other control
/// characters. A text of more than [`LONGEST_TEXT`] bytes is cut in its middle, where `…` stands: a
/// name's beginning and its end tell what it is.
pub fn printable(text: &str) -> Cow<'_, str> {
    let shown = if text.chars().all(|letter| symbol(letter) == letter) {
        Cow::Borrowed(text)
    } else {
        Cow::Owned(text.chars().map(symbol).collect())
    };
    let cut = cut(&shown).map(|(head, tail)| [head, tail].join("…"));
    cut.map_or(shown, Cow::Owned)
}

/// The beginning and the end of a text that is too long.
fn cut(text: &str) -> Option<(&str, &str)> {
    const HALF: usize = (LONGEST_TEXT - "…".len()) / 2;
    if text.len() <= LONGEST_TEXT {
        return None;
    }
    let is_boundary = |at: &usize| text.is_char_boundary(*at);
    let head = (0..=HALF).rev().find(is_boundary)?;
    let tail = (text.len() - HALF..=text.len()).find(is_boundary)?;
    Some((&text[..head], &text[tail..]))
}

const fn symbol(letter: char) -> char {
    match letter {
        '\u{0}'..='\u{1f}' => match char::from_u32(0x2400 + letter as u32) {
            Some(picture) => picture,
            None => char::REPLACEMENT_CHARACTER,
        },
        '\u{7f}' => '\u{2421}',
        // Control characters of ISO 6429, ends of lines and paragraphs, and Unicode's marks of
        // direction.
        '\u{80}'..='\u{9f}'
        | '\u{61c}'
        | '\u{200e}'
        | '\u{200f}'
        | '\u{2028}'..='\u{202e}'
        | '\u{2066}'..='\u{2069}' => char::REPLACEMENT_CHARACTER,
        other => other,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_too_long_keeps_its_beginning_and_its_end() {
        let whole = "a".repeat(LONGEST_TEXT);
        assert!(matches!(printable(&whole), Cow::Borrowed(same) if same == whole));
        for letter in ["a", "\u{e9}", "\u{4e2d}", "\u{1f600}", "\u{301}", "\u{1b}"] {
            let text = format!("main{}._omp_fn.0", letter.repeat(LONGEST_TEXT));
            let shown = printable(&text);
            let letter = printable(letter);
            assert!(shown.len() <= LONGEST_TEXT && shown.len() > LONGEST_TEXT - 16);
            assert!(shown.starts_with(&format!("main{letter}")), "{shown}");
            assert!(shown.ends_with(&format!("{letter}._omp_fn.0")), "{shown}");
            assert_eq!(shown.matches('\u{2026}').count(), 1, "{shown}");
            assert!(matches!(printable(&shown), Cow::Borrowed(_)));
        }
    }

    #[test]
    fn nothing_in_a_name_moves_the_cursor_or_ends_a_line() {
        for plain in ["", "main", "\u{e9}t\u{e9}<T>::run", "\u{4e2d}\u{6587}"] {
            assert!(matches!(printable(plain), Cow::Borrowed(same) if same == plain));
        }
        assert_eq!(
            printable("\u{1b}[2J\u{7}x\ny\t"),
            "\u{241b}[2J\u{2407}x\u{240a}y\u{2409}"
        );
        assert_eq!(
            printable("a\u{7f}\u{9b}31m\u{202e}b"),
            "a\u{2421}\u{fffd}31m\u{fffd}b"
        );
        for letter in (0..=0x3000).filter_map(char::from_u32) {
            let shown = printable(letter.encode_utf8(&mut [0; 4])).into_owned();
            assert!(!shown.chars().any(char::is_control), "{letter:?}");
        }
    }
}
