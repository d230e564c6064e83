//! What time is attributed from.

use experiment::Sums;
use experiment::header::Header;
use experiment::rows::{Blame, Interval};
use experiment::symbols::SymbolTable;
use experiment::tables::Tables;

/// What time is attributed from, besides samples.
#[derive(Clone, Copy, Debug)]
pub struct Source<'a> {
    /// The tables that all rows point to.
    pub tables: &'a Tables,
    /// Names for addresses.
    pub symbols: &'a SymbolTable,
    /// Measured time.
    pub sums: &'a Sums,
    /// Waiting time that is known to be owed to a thread.
    pub blames: &'a [Blame],
    /// Long intervals, listed one by one.
    pub intervals: &'a [Interval],
    /// How it was recorded.
    pub header: &'a Header,
}

/// What becomes of the slices of time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Slices {
    /// They are summed up: what is kept grows with distinct stacks alone.
    Folded,
    /// Each stays by itself, with as many shares as it shows distinct stacks: there may be nearly
    /// as many as there are samples.
    Apart,
}
