//! The kernel's side of a recording: perf events, their rings, their records.
//!
//! | module | what |
//! |---|---|
//! | [`plan`] | what to ask of the kernel, and what to do without when it refuses |
//! | [`open`] | the events and rings of a plan |
//! | [`parse`] | records, read in place |

pub mod open;
pub mod parse;
pub mod plan;
