//! Where the user is on the timeline, and what stands there.

mod columns;
mod instances;
mod order;
mod picture;
mod pointed;
pub mod samples;
mod selection;
mod settle;
pub mod state;
mod told;
