//! Formats by value, on an experiment made by hand.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

mod firefox;
mod hostile;
mod made;
mod many;
mod parquet;
mod perfetto;
mod pprof;
mod sums;
