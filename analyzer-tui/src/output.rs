//! The output to the terminal: one write per screen, with colours that the terminal understands.

use std::cell::Cell;
use std::io::{self, Write};
use std::rc::Rc;

use report::text::colours::Colours;

/// Buffers a screen and writes it at once. Standard output's buffer of a kilobyte would cut it into
/// pieces, which flicker and take longer.
#[derive(Debug)]
pub struct Output<W> {
    inner: W,
    waiting: Vec<u8>,
    colours: Colours,
    ending: Rc<Cell<bool>>,
}

impl<W: Write> Output<W> {
    /// Writes to a terminal with these colours. Once `ending` is set, write errors are ignored:
    /// if the terminal is gone, reporting them on standard error would panic.
    pub fn new(inner: W, colours: Colours, ending: Rc<Cell<bool>>) -> Output<W> {
        Output {
            inner,
            waiting: Vec::new(),
            colours,
            ending,
        }
    }

    fn write_out(&mut self, waiting: &[u8]) -> io::Result<()> {
        match self.colours {
            Colours::Sixteen => self.inner.write_all(&in_sixteen(waiting))?,
            Colours::None | Colours::Many => self.inner.write_all(waiting)?,
        }
        self.inner.flush()
    }
}

impl<W: Write> Write for Output<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.waiting.extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        let waiting = std::mem::take(&mut self.waiting);
        match self.write_out(&waiting) {
            Err(_) if self.ending.get() => Ok(()),
            written => written,
        }
    }
}

/// Rewrites colours from the form for 256 colours (`38;5;1`) to ECMA-48's for the first sixteen
/// (`31`, `94`). A terminal of sixteen colours may take the former for blinking or others.
fn in_sixteen(screen: &[u8]) -> Vec<u8> {
    let mut rewritten = Vec::with_capacity(screen.len());
    let mut rest = screen;
    while let Some(at) = rest.windows(2).position(|two| two == b"\x1b[") {
        let (before, after) = rest.split_at(at + 2);
        rewritten.extend_from_slice(before);
        let length = after
            .iter()
            .take_while(|byte| matches!(byte, b'0'..=b'9' | b';'));
        let (parameters, next) = after.split_at(length.count());
        match next.first() {
            Some(b'm') => rewritten.extend(with_short_colours(parameters)),
            _ => rewritten.extend_from_slice(parameters),
        }
        rest = next;
    }
    rewritten.extend_from_slice(rest);
    rewritten
}

/// The parameters of a "select graphic rendition" sequence, with the first sixteen colours in
/// their short form.
fn with_short_colours(parameters: &[u8]) -> Vec<u8> {
    let text = String::from_utf8_lossy(parameters);
    let mut words: Vec<String> = Vec::new();
    let mut numbers = text.split(';');
    while let Some(word) = numbers.next() {
        let base = match word {
            "38" => 30,
            "48" => 40,
            _ => {
                words.push(word.to_owned());
                continue;
            }
        };
        match (numbers.next(), numbers.next()) {
            (Some("5"), Some(number)) => match number.parse::<u8>() {
                Ok(colour @ 0..8) => words.push((base + colour).to_string()),
                Ok(colour @ 8..16) => words.push((base + 60 + colour - 8).to_string()),
                _ => words.extend([word.to_owned(), "5".to_owned(), number.to_owned()]),
            },
            (kind, number) => {
                words.push(word.to_owned());
                words.extend([kind, number].into_iter().flatten().map(str::to_owned));
            }
        }
    }
    words.join(";").into_bytes()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn written(colours: Colours, pieces: &[&str]) -> String {
        let mut output = Output::new(Vec::new(), colours, Rc::default());
        for piece in pieces {
            output.write_all(piece.as_bytes()).unwrap();
        }
        assert!(output.inner.is_empty(), "nothing is written by halves");
        output.flush().unwrap();
        String::from_utf8(output.inner).unwrap()
    }

    #[test]
    fn sixteen_colours_have_their_own_numbers() {
        let of = |pieces: &[&str]| written(Colours::Sixteen, pieces);
        assert_eq!(of(&["\x1b[38;5;1;48;5;12mx"]), "\x1b[31;104mx");
        assert_eq!(
            of(&["a\x1b[1m\x1b[38;", "5;9mé\x1b[0m"]),
            "a\x1b[1m\x1b[91mé\x1b[0m"
        );
        // What is no colour is left alone, also where it looks like one.
        assert_eq!(
            of(&["\x1b[38;5H\x1b[39;49m 38;5;1m"]),
            "\x1b[38;5H\x1b[39;49m 38;5;1m"
        );
        assert_eq!(of(&["\x1b[38;5;200m\x1b["]), "\x1b[38;5;200m\x1b[");
        assert_eq!(
            of(&["\x1b[38;2;1;2;3m\x1b[38m"]),
            "\x1b[38;2;1;2;3m\x1b[38m"
        );
    }

    #[test]
    fn other_terminals_get_what_was_drawn() {
        let drawn = "\x1b[38;5;1mx";
        assert_eq!(written(Colours::Many, &[drawn]), drawn);
        assert_eq!(written(Colours::None, &[drawn]), drawn);
    }
}
