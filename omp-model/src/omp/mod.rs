//! From events to measured time: which state each thread is in, and for how long.
//!
//! [`Machine`] is the OpenMP state machine. It is fed one stream of [`crate::stream::Event`]s,
//! merged by time over all threads and processes, and says what each thread does at each moment.
//! [`Ledger`] books the time between the moments, to the nanosecond: the sum of all rows of a
//! thread is its lifetime.

mod cells;
mod joins;
mod labels;
mod ledger;
mod listing;
mod locks;
mod machine;
mod regions;
mod tasks;
mod thread;

pub use ledger::{Ledger, Rows, TaskRun, TeamWork};
pub use listing::LISTED_PER_SECOND;
pub use machine::Machine;

#[cfg(test)]
mod instance_tests;
#[cfg(test)]
mod ledger_tests;
#[cfg(test)]
mod lock_tests;
#[cfg(test)]
mod loss_tests;
#[cfg(test)]
mod random_tests;
#[cfg(test)]
mod region_tests;
#[cfg(test)]
mod scene;
#[cfg(test)]
mod task_tests;
#[cfg(test)]
mod wait_tests;
#[cfg(test)]
mod work_tests;
