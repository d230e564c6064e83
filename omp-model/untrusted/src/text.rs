//! Names that someone else has given.

use std::borrow::Cow;

/// A name, path or line as text that a terminal shows and never obeys: control characters become
/// their symbols (U+2400 and on), and so do line ends, because a name is never longer than a line.
/// Characters that change the direction of what follows become U+FFFD, as do the other control
/// characters.
pub fn printable(text: &str) -> Cow<'_, str> {
    if text.chars().all(|letter| symbol(letter) == letter) {
        Cow::Borrowed(text)
    } else {
        Cow::Owned(text.chars().map(symbol).collect())
    }
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
