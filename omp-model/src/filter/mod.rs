//! Filters: they select the part of the thread time that a view shows.
//!
//! A filter is a C-like expression over the [`Word`]s. It keeps every piece of time for which it is
//! not zero. A filter and its negation together keep all time.
//!
//! Most words have one value for a whole [`Item`](crate::profile::Item), so its time is kept or
//! dropped as a whole, exactly. `TSTAMP`, `CPUID`, `CPRID` and `TSKID` do not: time is summed by
//! second and construct, and only samples and listed intervals have a CPU and instances. [`apply`]
//! describes how such time is divided.

mod cpus;
mod eval;
mod expression;
mod hints;
mod item_cpus;
mod listed;
mod named_stack;
mod parse;
mod path;
mod sample_filter;
#[cfg(test)]
mod tests;
mod time_point;
mod times;
mod tokens;
mod values;
mod weigh;
mod words;

pub use cpus::AnySample;
pub use expression::Filter;
pub use item_cpus::{ItemCpu, on_cpus};
pub use named_stack::NamedStack;
pub use path::is_like;
pub use sample_filter::SampleFilter;
pub use tokens::FilterError;
pub use values::{Parts, values};
pub use weigh::{Filtered, Source, apply};
pub use words::{MSTATES, OMP_STATES, Word};
