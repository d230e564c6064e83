//! Filters: which part of the thread time a report is about.
//!
//! A filter is an expression in the manner of C over the [`Word`]s. It keeps every piece of time
//! for which it is not zero; with the opposite filter the pieces add up to all time.
//!
//! Most words say something of a whole [`Item`](crate::profile::Item), so that its time is kept
//! or dropped as a whole, exactly. `TSTAMP`, `CPUID`, `CPRID` and `TSKID` do not: time is summed by
//! second and construct, and the CPU and the instances are known of samples and listed intervals
//! alone. [`apply`] tells how such time is divided.

mod cpu_places;
mod cpus;
mod eval;
mod moment;
mod parse;
mod path;
#[cfg(test)]
mod tests;
mod tokens;
mod values;
mod weigh;
mod words;

pub use cpu_places::{CpuPlace, on_cpus};
pub use parse::FilterError;
pub use values::{Parts, values};
pub use weigh::{Filtered, Source, apply};
pub use words::{MSTATES, OMP_STATES, Word};

use parse::Parsed;

/// A checked expression.
#[derive(Clone, Debug, PartialEq)]
pub struct Filter {
    text: String,
    parsed: Parsed,
}

impl Filter {
    /// Checks an expression.
    pub fn parse(text: &str) -> Result<Filter, FilterError> {
        Ok(Filter {
            text: text.to_owned(),
            parsed: parse::parse(text)?,
        })
    }

    /// As it was written.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// Whether it has a word, so that a reader can tell what the filter depends on.
    pub fn has(&self, word: Word) -> bool {
        self.parsed.words.contains(&word)
    }

    /// Whether its value may change within an item of time.
    pub fn divides(&self) -> bool {
        self.parsed.words.iter().any(|word| word.is_of_samples())
    }

    /// Keeps what both keep.
    pub fn and(&self, other: &Filter) -> Result<Filter, FilterError> {
        Filter::parse(&format!("({}) && ({})", self.text, other.text))
    }
}
