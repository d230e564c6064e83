//! perf events: opening them, reading their ring buffers, parsing their records.
//!
//! | module | what |
//! |---|---|
//! | [`plan`] | which events to request, and the fallback after each refusal |
//! | [`open`] | opens the events and ring buffers of a plan |
//! | [`parse`] | parses records in place |

pub mod open;
pub mod parse;
pub mod plan;
