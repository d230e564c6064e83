//! The state of the timeline.

mod columns;
mod cursor;
mod detail;
mod instances;
mod row_cache;
pub mod samples;
mod settle;
pub mod state;
mod thread_order;
mod time_box;
