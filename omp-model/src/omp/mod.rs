//! From events to measured time: which state each thread is in, and for how long.
//!
//! [`Machine`] is the OpenMP state machine. Its input is one stream of [`crate::stream::Event`]s,
//! merged by time over all threads and processes; it knows the state of each thread at any time.
//! [`TimeAccounting`] accounts for the time between the events, to the nanosecond: the sum of all
//! rows of a thread is its lifetime.

mod account;
mod accounting;
mod events;
mod id_cache;
mod joins;
mod keyed_sums;
mod listing;
mod locks;
mod machine;
mod regions;
mod task_table;
mod tasks;
mod thread;
mod untimed;

pub use account::{RegionRun, Rows, TaskRun, TeamWork};
pub use accounting::TimeAccounting;
pub use listing::LISTED_PER_SECOND;
pub use locks::LockWaits;
pub use machine::Machine;

#[cfg(test)]
mod tests;
