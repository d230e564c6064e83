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
mod expression;
mod listed;
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
pub use expression::Filter;
pub use tokens::FilterError;
pub use values::{Parts, values};
pub use weigh::{Filtered, Source, apply};
pub use words::{MSTATES, OMP_STATES, Word};
