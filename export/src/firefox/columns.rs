//! Columns of numbers in JSON.

use std::io::{self, Write};

/// Writes `"name":[…]`; `value` appends one element.
pub(super) fn column<T>(
    out: &mut impl Write,
    name: &str,
    rows: impl IntoIterator<Item = T>,
    mut value: impl FnMut(&mut Vec<u8>, T),
) -> io::Result<()> {
    const FULL: usize = 1 << 14;
    let mut text = Vec::with_capacity(FULL + 64);
    text.extend_from_slice(format!("\"{name}\":[").as_bytes());
    for (at, row) in rows.into_iter().enumerate() {
        if at > 0 {
            text.push(b',');
        }
        value(&mut text, row);
        if text.len() >= FULL {
            out.write_all(&text)?;
            text.clear();
        }
    }
    text.push(b']');
    out.write_all(&text)
}

/// Appends a whole number.
pub(super) fn number(text: &mut Vec<u8>, mut value: u64) {
    let mut digits = [0; 20];
    let mut at = digits.len();
    loop {
        at -= 1;
        digits[at] = b'0' + (value % 10) as u8;
        value /= 10;
        if value == 0 {
            break;
        }
    }
    text.extend_from_slice(&digits[at..]);
}

/// Appends nanoseconds as milliseconds.
pub(super) fn milliseconds(text: &mut Vec<u8>, nanos: u64) {
    number(text, nanos / 1_000_000);
    let mut rest = nanos % 1_000_000;
    if rest > 0 {
        text.push(b'.');
        let mut place = 100_000;
        while rest > 0 {
            text.push(b'0' + (rest / place) as u8);
            rest %= place;
            place /= 10;
        }
    }
}

/// Appends a number, or `null`.
pub(super) fn optional(text: &mut Vec<u8>, value: Option<u64>) {
    match value {
        Some(value) => number(text, value),
        None => text.extend_from_slice(b"null"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_those_of_json() {
        let text = |nanos| {
            let mut text = Vec::new();
            milliseconds(&mut text, nanos);
            String::from_utf8(text).unwrap()
        };
        assert_eq!(text(0), "0");
        assert_eq!(text(1), "0.000001");
        assert_eq!(text(1_250_000), "1.25");
        assert_eq!(text(20_000_000), "20");
        let mut out = Vec::new();
        column(&mut out, "a", [Some(u64::MAX), None], optional).unwrap();
        assert_eq!(out, br#""a":[18446744073709551615,null]"#);
    }
}
