//! A filter's expression, checked.

use super::parse::{self, Parsed};
use super::tokens::FilterError;
use super::words::Word;

/// A checked expression.
#[derive(Clone, Debug, PartialEq)]
pub struct Filter {
    text: String,
    pub(super) parsed: Parsed,
}

impl Filter {
    /// Checks an expression.
    pub fn parse(text: &str) -> Result<Filter, FilterError> {
        Ok(Filter {
            text: text.to_owned(),
            parsed: parse::parse(text)?,
        })
    }

    /// The text of the expression.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// Whether it contains a word, which tells what the filter depends on.
    pub fn has(&self, word: Word) -> bool {
        self.parsed.words.contains(&word)
    }

    /// Whether its value may change within an item of time.
    pub fn divides(&self) -> bool {
        self.parsed.words.iter().any(|word| word.is_of_samples())
    }

    /// A filter that keeps what both keep.
    pub fn and(&self, other: &Filter) -> Result<Filter, FilterError> {
        Filter::parse(&format!("({}) && ({})", self.text, other.text))
    }
}
