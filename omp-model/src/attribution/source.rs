//! What time is attributed from.

use experiment::header::Header;
use experiment::rows::{Blame, Interval};
use experiment::symbols::SymbolTable;
use experiment::tables::Tables;
use experiment::{CounterSamples, Packed, Sums};

/// What time is attributed from, besides samples.
#[derive(Clone, Copy, Debug)]
pub struct Source<'a> {
    /// The tables that all rows point to.
    pub tables: &'a Tables,
    /// Names for addresses.
    pub symbols: &'a SymbolTable,
    /// Measured time.
    pub sums: &'a Sums,
    /// The samples of counters.
    pub counters: &'a [CounterSamples],
    /// Waiting time of which the holder is known.
    pub blames: &'a Packed<Blame>,
    /// Long intervals, listed one by one.
    pub intervals: &'a [Interval],
    /// How it was recorded.
    pub header: &'a Header,
}

/// Whether slices of time are added up.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Slices {
    /// Added up: memory grows with distinct stacks alone.
    Folded,
    /// Each stays by itself, with as many shares as it shows distinct stacks: there may be nearly
    /// as many as there are samples.
    Apart,
}
