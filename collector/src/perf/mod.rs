//! perf events: opening them, reading their ring buffers, parsing their records.
//!
//! | module | what |
//! |---|---|
//! | [`plan`] | which events to request, and the fallback after each refusal |
//! | [`counters`] | the events that can be counted, by name |
//! | [`open`] | opens the events and ring buffers of a plan |
//! | [`parse`] | parses records in place |

pub mod counters;
pub mod open;
pub mod parse;
pub mod plan;
